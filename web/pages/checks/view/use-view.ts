// The part of the list that is shown, kept in the address, and the order that was chosen last, kept by the browser.
import { useEffect, useMemo } from "react";
import { useLocation, useSearch } from "wouter";
import { readView, type View, writeView } from "./view.ts";

const KEPT_ORDER = "overdue.order";

/**
 * The view lives in the address; changing it replaces the entry, so that "back" leaves the page. Who comes by an address
 * that asks for nothing gets the order that was chosen last in this browser.
 */
export function useView(): [View, (view: View) => void] {
  const text = useSearch();
  const [location, navigate] = useLocation();
  const view = useMemo(() => readView(text), [text]);
  const show = (next: View) => {
    const query = writeView(next);
    navigate(query === "" ? location : `${location}?${query}`, { replace: true });
  };
  useEffect(() => {
    const { order } = readView(`sort=${localStorage.getItem(KEPT_ORDER) ?? ""}`);
    if (text === "" && order !== view.order) show({ ...view, order });
  }, [text]);
  const set = (next: View) => {
    localStorage.setItem(KEPT_ORDER, next.order);
    show(next);
  };
  return [view, set];
}
