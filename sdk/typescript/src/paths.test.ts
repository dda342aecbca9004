// The path rules are those of the server (crates/gateway/src/workspace_path.rs).
import { expect, test } from 'vitest';
import { absolutePath, baseName, joinPath, parentPath, pathNames, relativePath, suffix } from './paths.js';

test('all ways to write a path are the same path', () => {
  for (const path of ['/workspace/src/a', '/src/a', 'src/a', './src//a/', '/workspace/./src/a']) {
    expect(pathNames(path), path).toEqual(['src', 'a']);
    expect(relativePath(path), path).toBe('src/a');
    expect(absolutePath(path), path).toBe('/workspace/src/a');
  }
});

test('the workspace itself has no names', () => {
  for (const path of ['', '.', '/', '/workspace', '/workspace/']) {
    expect(pathNames(path), path).toEqual([]);
    expect(absolutePath(path), path).toBe('/workspace');
    expect(baseName(path), path).toBe('');
    expect(parentPath(path), path).toBe('');
  }
});

test('names that only look special are names', () => {
  expect(absolutePath('workspace')).toBe('/workspace/workspace');
  expect(absolutePath('/workspacex')).toBe('/workspace/workspacex');
  expect(relativePath('a/../b')).toBe('a/../b');
  expect(joinPath('src', '/workspace/b')).toBe('src/workspace/b');
});

test('parts of a path', () => {
  expect(parentPath('/workspace/a/b.tar.gz')).toBe('a');
  expect(baseName('/workspace/a/b.tar.gz')).toBe('b.tar.gz');
  expect(suffix('a/b.tar.gz')).toBe('.gz');
  expect(suffix('a.b/c')).toBe('');
  expect(suffix('.bashrc')).toBe('');
  expect(joinPath('', 'a')).toBe('a');
  expect(joinPath('/workspace/x/', './a//b')).toBe('x/a/b');
});
