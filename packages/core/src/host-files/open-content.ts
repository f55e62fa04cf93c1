import { closeSync, constants, fstatSync, openSync } from 'node:fs'
import { isADirectory, pathDenied } from './map-error.js'
import { isSameFile } from './describe-stat.js'
import type { Place } from './place.js'

/**
 * Opens the contents of a file that a path was resolved to. What it is was seen before it is opened, so that no FIFO blocks
 * and no device is woken; O_NONBLOCK stands behind that where paths can be bent.
 */
export function openContent(place: Place, path: string, flags: number): number {
  assertFile(place, path)
  const fd = openSync(place.self, flags | constants.O_NONBLOCK | constants.O_NOCTTY)
  if (place.held) return fd
  if (isSameFile(fstatSync(fd, { bigint: true }), place.stat)) return fd
  closeSync(fd)
  throw pathDenied(path, 'it was replaced while it was opened')
}

/** Throws `is_a_directory`, or `path_denied` for what has no contents of its own. */
export function assertFile(place: Place, path: string): void {
  const { stat } = place
  if (stat.isFile()) return
  if (stat.isDirectory()) throw isADirectory(path)
  throw pathDenied(path, 'it is a FIFO, socket, device or link, and only regular files are read and written')
}
