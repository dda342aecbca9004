// Words of the ports of a session and their previews.
export const ports = {
  opened: (port: number) => `Port ${port} is open`,
  preview: 'Preview',
  previewOf: (port: number) => `Preview of port ${port}`,
  show: (port: number) => `Show port ${port}`,
  tab: (port: number) => `Port ${port}`,
  address: 'Path',
  reload: 'Load again',
  openTab: 'Open in a new tab',
  close: 'Close the preview',
};
