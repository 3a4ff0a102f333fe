// Which image a logo is, from its bytes alone: names and declared types are not trusted.
import { STATUS_LOGO_PIXELS_MAX } from "./limits.ts";
import type { LogoType } from "./status-page.ts";

export type LogoImage = { type: LogoType; width: number; height: number };

/** The image; null if it is none of the accepted ones, or its size cannot be read. */
export function readLogo(bytes: Uint8Array): LogoImage | null {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const size = sizeOf(view);
  return size === null || size.width < 1 || size.height < 1 ? null : size;
}

/** Whether a logo is small enough to be shown. */
export function isLogoSize({ width, height }: LogoImage): boolean {
  return width <= STATUS_LOGO_PIXELS_MAX && height <= STATUS_LOGO_PIXELS_MAX;
}

function sizeOf(view: DataView): LogoImage | null {
  if (hasText(view, 1, "PNG\r\n\u001A\n") && hasText(view, 12, "IHDR") && view.byteLength >= 33) {
    return { type: "image/png", width: view.getUint32(16), height: view.getUint32(20) };
  }
  if (hasText(view, 0, "RIFF") && hasText(view, 8, "WEBP")) return webpSize(view);
  return view.byteLength >= 4 && view.getUint32(0) >>> 8 === 0xff_d8_ff ? jpegSize(view) : null;
}

function hasText(view: DataView, at: number, text: string): boolean {
  if (view.byteLength < at + text.length) return false;
  for (let index = 0; index < text.length; index += 1) {
    if (view.getUint8(at + index) !== text.charCodeAt(index)) return false;
  }
  return true;
}

function webpSize(view: DataView): LogoImage | null {
  const type = "image/webp";
  if (view.byteLength < 30) return null;
  if (hasText(view, 12, "VP8X")) {
    const width = 1 + (view.getUint32(24, true) & 0xff_ff_ff);
    const height = 1 + (view.getUint32(26, true) >>> 8);
    return { type, width, height };
  }
  if (hasText(view, 12, "VP8L")) {
    const bits = view.getUint32(21, true);
    return { type, width: 1 + (bits & 0x3f_ff), height: 1 + ((bits >>> 14) & 0x3f_ff) };
  }
  if (!hasText(view, 12, "VP8 ")) return null;
  return { type, width: view.getUint16(26, true) & 0x3f_ff, height: view.getUint16(28, true) & 0x3f_ff };
}

/** Markers that begin a frame, which has the size. */
const FRAMES = new Set([0xc0, 0xc1, 0xc2, 0xc3, 0xc5, 0xc6, 0xc7, 0xc9, 0xca, 0xcb, 0xcd, 0xce, 0xcf]);

function jpegSize(view: DataView): LogoImage | null {
  let at = 2;
  while (at + 9 <= view.byteLength) {
    if (view.getUint8(at) !== 0xff) return null;
    const marker = view.getUint8(at + 1);
    if (FRAMES.has(marker)) {
      return { type: "image/jpeg", width: view.getUint16(at + 7), height: view.getUint16(at + 5) };
    }
    const length = marker === 0xff ? 0 : view.getUint16(at + 2);
    if (marker !== 0xff && length < 2) return null;
    at += marker === 0xff ? 1 : 2 + length;
  }
  return null;
}
