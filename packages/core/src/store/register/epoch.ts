import { join } from 'node:path'
import { randomToken } from '../temporaries.js'
import type { RegisterEntry } from './register-file.js'

/** Versions in one epoch: what is left lying about at most, against how often a folder is made. */
const EPOCH_LENGTH = 16
const EPOCH_FOLDER = /^([0-9]{1,16})-[0-9a-f]{24}$/

/** Where a version lies. */
export interface Place {
  readonly epoch: string
  readonly number: number
  /** Folder of the following epoch for the last version of one, else null; undefined while it has not been read. */
  readonly next: string | null | undefined
}

export function newEpoch(number: number): string {
  return `${Math.floor(number / EPOCH_LENGTH)}-${randomToken()}`
}

/** The folder that the write of `number` has to have ready for the one after it; null in the middle of an epoch. */
export function followingEpoch(number: number): string | null {
  return endsEpoch(number) ? newEpoch(number + 1) : null
}

export function placeOf(epoch: string, entry: RegisterEntry): Place {
  return { epoch, number: entry.number, next: entry.next }
}

/** A place found by its name alone. */
export function unreadPlace(epoch: string, number: number): Place {
  return { epoch, number, next: endsEpoch(number) ? undefined : null }
}

export function successorOf({ epoch, number, next }: Place): Place {
  return unreadPlace(next ?? epoch, number + 1)
}

export function pathIn(keyFolder: string, { epoch, number }: Place): string {
  return join(keyFolder, epoch, String(number))
}

/** Names of epoch folders among `names`, newest first. */
export function epochsAmong(names: readonly string[]): string[] {
  return names.filter((name) => EPOCH_FOLDER.test(name)).sort((a, b) => orderOf(b) - orderOf(a))
}

/** Position of the epoch among those of its key. */
export function orderOf(epoch: string): number {
  return Number(EPOCH_FOLDER.exec(epoch)?.[1] ?? NaN)
}

/** The highest version among the names of an epoch folder, undefined when there is none. */
export function highestVersion(names: readonly string[]): number | undefined {
  const numbers = names.filter((name) => /^[1-9][0-9]{0,15}$/.test(name)).map(Number)
  return numbers.length === 0 ? undefined : Math.max(...numbers)
}

function endsEpoch(number: number): boolean {
  return number % EPOCH_LENGTH === EPOCH_LENGTH - 1
}
