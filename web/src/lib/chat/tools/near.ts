// Whether an element is in the window or close to it, by one observer for all.
type Listener = (isNear: boolean) => void;

/** What is that close is made before it is seen. */
const MARGIN = '400px';
const listeners = new WeakMap<Element, Listener>();
let observer: IntersectionObserver | null = null;

function shared(): IntersectionObserver {
  observer ??= new IntersectionObserver(
    (entries) => {
      for (const { target, isIntersecting } of entries) listeners.get(target)?.(isIntersecting);
    },
    { rootMargin: MARGIN },
  );
  return observer;
}

/** Calls `listener` when the element comes close and when it goes. For `{@attach near(...)}`. */
export function near(listener: Listener): (element: Element) => () => void {
  return (element) => {
    listeners.set(element, listener);
    shared().observe(element);
    return () => {
      listeners.delete(element);
      observer?.unobserve(element);
    };
  };
}
