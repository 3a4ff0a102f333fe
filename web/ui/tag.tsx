// A tag, and the few of a row: what does not fit is counted, and the names are in the tooltip.
function Tag({ name }: { name: string }) {
  return <span className="tag clip">{name}</span>;
}

export function Tags({ names, most }: { names: readonly string[]; most: number }) {
  const rest = names.slice(most);
  return (
    <>
      {names.slice(0, most).map((name) => (
        <Tag key={name} name={name} />
      ))}
      {rest.length > 0 && (
        <span className="tag" title={rest.join(" ")}>
          +{rest.length}
        </span>
      )}
    </>
  );
}
