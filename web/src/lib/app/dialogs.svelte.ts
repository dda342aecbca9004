// Which dialog of the shell is open.
export const dialogs = $state({ palette: false, shortcuts: false });
