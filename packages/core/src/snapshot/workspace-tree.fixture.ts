import { createHash } from 'node:crypto'
import { lstatSync, readdirSync, readFileSync, readlinkSync } from 'node:fs'
import type { BigIntStats } from 'node:fs'
import { chmod, link, lutimes, mkdir, open, rm, symlink, writeFile } from 'node:fs/promises'
import { expect } from 'vitest'

/** What is at one path, but for its time. */
interface TreeLine {
  readonly text: string
  readonly mtimeNs: bigint
}

/** Everything that a snapshot has to bring back, read without any of our own code. */
export function describeTree(root: string): TreeLine[] {
  const firstNames = new Map<bigint, string>()
  const lines: TreeLine[] = []
  const walk = (folder: Buffer, prefix: string): void => {
    for (const name of readdirSync(folder, { encoding: 'buffer' }).sort(Buffer.compare)) {
      const path = Buffer.concat([folder, Buffer.from('/'), name])
      const shown = `${prefix}${name.toString('latin1')}`
      const stat = lstatSync(path, { bigint: true })
      const first = stat.isFile() ? (firstNames.get(stat.ino) ?? shown) : shown
      firstNames.set(stat.ino, first)
      lines.push({
        text: `${shown} ${describe(path, stat)}${first === shown ? '' : ` = ${first}`}`,
        mtimeNs: stat.mtimeNs,
      })
      if (stat.isDirectory()) walk(path, `${shown}/`)
    }
  }
  walk(Buffer.from(root), '')
  return lines
}

function describe(path: Buffer, stat: BigIntStats): string {
  if (stat.isSymbolicLink()) return `-> ${readlinkSync(path, { encoding: 'buffer' }).toString('latin1')}`
  const mode = (Number(stat.mode) & 0o7777).toString(8)
  if (stat.isDirectory()) return `${mode} directory`
  return `${mode} ${stat.size} ${createHash('sha256').update(readFileSync(path)).digest('hex').slice(0, 16)}`
}

/** Times may differ by the microsecond that Node rounds away. */
export function expectTree(root: string, expected: readonly TreeLine[]): void {
  const actual = describeTree(root)
  expect(actual.map(({ text }) => text)).toEqual(expected.map(({ text }) => text))
  const moved = expected.flatMap(({ text, mtimeNs }, index) => {
    const differenceNs = actual[index]!.mtimeNs - mtimeNs
    return differenceNs > 1000n || differenceNs < -1000n ? [`${text}: ${differenceNs} ns`] : []
  })
  expect(moved).toEqual([])
}

const NAMES = ['a', 'b.ts', 'a-b', 'A', ' ', 'ä', '😀', '\uffee', '.git', 'x'.repeat(120), 'new\nline', 'back\\slash']
const ODD_NAMES = [Buffer.from([0xff]), Buffer.from([0x61, 0xc3]), Buffer.from([0xed, 0xa0, 0x80])]
const FILE_MODES = [0o644, 0o755, 0o600, 0o444, 0o1644]
const DIRECTORY_MODES = [0o755, 0o700, 0o1777, 0o555, 0o500]

/** Fills an empty directory with a tree by chance: odd names, links of both kinds, empty directories, holes. */
export async function writeRandomTree(root: string, random: () => number): Promise<void> {
  const pick = <T>(from: readonly T[]): T => from[Math.floor(random() * from.length)]!
  const files: Buffer[] = []
  const directories: Array<[path: Buffer, mode: number]> = []
  const fill = async (folder: Buffer, depth: number): Promise<void> => {
    const used = new Set<string>()
    for (let left = Math.floor(random() * 8); left > 0; left--) {
      const name = random() < 0.15 ? pick(ODD_NAMES) : Buffer.from(pick(NAMES) + (random() < 0.3 ? left : ''))
      if (used.has(name.toString('latin1'))) continue
      used.add(name.toString('latin1'))
      const path = Buffer.concat([folder, Buffer.from('/'), name])
      const kind = random()
      if (kind < 0.3 && depth < 4) {
        await mkdir(path)
        directories.push([path, pick(DIRECTORY_MODES)])
        await fill(path, depth + 1)
      } else if (kind < 0.4) {
        await symlink(pick(['a', '../..', '/etc/passwd', 'nowhere/\u00e9', Buffer.from([0xfe, 0x2f, 0x61])]), path)
      } else if (kind < 0.5 && files.length > 0) {
        await link(pick(files), path)
      } else {
        await writeRandomFile(path, random)
        await chmod(path, pick(FILE_MODES))
        files.push(path)
      }
      if (random() < 0.3) await lutimes(path, 1, Math.floor(random() * 2e9) + 0.123456)
    }
  }
  await fill(Buffer.from(root), 0)
  for (const [path, mode] of directories.toReversed()) await chmod(path, mode)
}

async function writeRandomFile(path: Buffer, random: () => number): Promise<void> {
  const kind = random()
  if (kind < 0.06) {
    // Larger than what is held in memory, and mostly a hole.
    const file = await open(path, 'w')
    await file.write('end', 5 * 1024 ** 2 + Math.floor(random() * 1000))
    await file.close()
    return
  }
  const length = kind < 0.2 ? 0 : Math.floor(random() ** 4 * 2 * 1024 ** 2)
  await writeFile(path, Buffer.alloc(length, Math.floor(random() * 1e9).toString(36)))
}

/** Removes what is in a directory, also where nobody may write. */
export async function emptyDirectory(root: string): Promise<void> {
  for (const name of readdirSync(root, { encoding: 'buffer' })) {
    await rm(Buffer.concat([Buffer.from(`${root}/`), name]), { recursive: true, force: true })
  }
}
