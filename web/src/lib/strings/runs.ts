// Words of the area "runs".
export const runs = {};
