import { useCallback, useLayoutEffect, useRef, useState } from 'preact/hooks';

// Rows beyond both ends of the view that are there too, so that a quick scroll shows none that is missing.
const BEYOND = 6;

/** The rows of a long list that are in view, all of one height: only these are in the document. */
export function useRowsInView(count: number, rowHeight: number) {
  const ref = useRef<HTMLDivElement>(null);
  const [view, setView] = useState({ top: 0, height: 0 });

  useLayoutEffect(() => {
    const element = ref.current;
    if (element === null) return;
    const look = () => setView({ top: element.scrollTop, height: element.clientHeight });
    const observer = new ResizeObserver(look);
    observer.observe(element);
    element.addEventListener('scroll', look, { passive: true });
    look();
    return () => {
      observer.disconnect();
      element.removeEventListener('scroll', look);
    };
  }, []);

  /** Brings a row into view, if it is not. */
  const reveal = useCallback(
    (index: number) => {
      const element = ref.current;
      if (element === null) return;
      const top = index * rowHeight;
      if (top < element.scrollTop) element.scrollTop = top;
      else if (top + rowHeight > element.scrollTop + element.clientHeight) {
        element.scrollTop = top + rowHeight - element.clientHeight;
      }
    },
    [rowHeight],
  );

  const first = Math.floor(view.top / rowHeight);
  const last = Math.ceil((view.top + view.height) / rowHeight);
  return {
    ref,
    reveal,
    /** Of the part that is in view. */
    viewHeight: view.height,
    height: count * rowHeight,
    /** From the first of the rows that are to be drawn to the one behind the last. */
    from: Math.max(0, Math.min(first, count) - BEYOND),
    to: Math.min(count, last + BEYOND),
    /** Those that a reader sees. */
    seen: { from: Math.max(0, first), to: Math.min(count, last) },
  };
}
