// Mermaid, in a part of its own. Its picture is shown by `<img>`, where no script runs and nothing is loaded.
import mermaid from 'mermaid';

let count = 0;

/** Draws a diagram. Returns an SVG document; throws if the source cannot be read. */
export async function draw(source: string, isDark: boolean): Promise<string> {
  mermaid.initialize({
    startOnLoad: false,
    securityLevel: 'strict',
    theme: isDark ? 'dark' : 'neutral',
    htmlLabels: false,
    flowchart: { htmlLabels: false },
    suppressErrorRendering: true,
    maxTextSize: 20_000,
    fontFamily: 'system-ui, sans-serif',
  });
  count += 1;
  const { svg } = await mermaid.render(`diagram-${count}`, harmless(source));
  return withSize(svg);
}

/**
 * Breaks handlers of events in labels. Mermaid removes them, but parses them first, which the policy of the page blocks
 * and reports.
 */
export function harmless(source: string): string {
  return source.replace(/\bon(?=\w+\s*=)/gi, '$&\u200b');
}

/** An image without a size of its own would fill the page. */
function withSize(svg: string): string {
  const root = new DOMParser().parseFromString(svg, 'image/svg+xml').documentElement;
  const [, , width, height] = (root.getAttribute('viewBox') ?? '').split(/[\s,]+/).map(Number);
  if (width && height) {
    root.setAttribute('width', String(Math.ceil(width)));
    root.setAttribute('height', String(Math.ceil(height)));
  }
  return new XMLSerializer().serializeToString(root);
}
