import {
  chmodSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join } from 'node:path'

/** A directory of the host as one line per path: `644 text`, `755/`, `-> target`. */
export function readTree(directory: string): Record<string, string> {
  const lines: Record<string, string> = {}
  const walk = (relative: string): void => {
    for (const name of readdirSync(join(directory, relative)).sort()) {
      const path = relative === '' ? name : `${relative}/${name}`
      const place = join(directory, path)
      const stat = lstatSync(place)
      const mode = (stat.mode & 0o7777).toString(8)
      if (stat.isSymbolicLink()) lines[path] = `-> ${readlinkSync(place)}`
      else if (stat.isFile()) lines[path] = `${mode} ${readFileSync(place, 'utf8')}`
      else lines[path] = stat.isDirectory() ? `${mode}/` : 'special'
      if (stat.isDirectory()) walk(path)
    }
  }
  walk('')
  return lines
}

/** Makes what {@link readTree} tells. Parents that are not named are made. */
export function writeTree(directory: string, tree: Readonly<Record<string, string>>): void {
  for (const [path, line] of Object.entries(tree)) {
    const place = join(directory, path)
    mkdirSync(dirname(place), { recursive: true })
    const [, link] = /^-> (.*)$/s.exec(line) ?? []
    const [, dirMode] = /^([0-7]+)\/$/.exec(line) ?? []
    const [, fileMode = '644', text = ''] = /^([0-7]+) (.*)$/s.exec(line) ?? []
    if (link !== undefined) symlinkSync(link, place)
    else if (dirMode === undefined) writeFileSync(place, text)
    else mkdirSync(place, { recursive: true })
    if (link === undefined) chmodSync(place, Number.parseInt(dirMode ?? fileMode, 8))
  }
}
