/**
 * Blob keys as paths in a folder. A component becomes a folder, the last one a file with `,` behind it, so that `a` and
 * `a/b` are both keys. Capitals become `^` and the small letter, for file systems that do not tell them apart; a dot in
 * front becomes `^.`. Components of more than 100 characters are cut into pieces, each but the last a folder with `+`
 * behind it, for those that limit names to 255 bytes.
 */
const PIECE = 100
const ENTRY = /^((?:[a-z0-9._=-]|\^[a-z.])+)([,+]?)$/

/** Parts of the path, the last one the file's name. */
export function blobPath(key: string): string[] {
  return key.split('/').flatMap((component, index, components) => {
    const pieces = component.match(new RegExp(`.{1,${PIECE}}`, 'g')) ?? []
    const isLast = index === components.length - 1
    return pieces.map((piece, at) => encode(piece) + (at < pieces.length - 1 ? '+' : isLast ? ',' : ''))
  })
}

/** What the name of a file or folder adds to the key, and how it goes on beneath. */
export interface BlobPathEntry {
  readonly name: string
  readonly text: string
  readonly kind: 'blob' | 'component' | 'piece'
}

/** undefined for what is no part of a key's path. */
export function parseBlobPathEntry(name: string): BlobPathEntry | undefined {
  const [, encoded, mark] = ENTRY.exec(name) ?? []
  if (encoded === undefined) return undefined
  const text = encoded.replace(/\^([a-z.])/g, (_all, letter: string) => letter.toUpperCase())
  if (mark === '') return { name, text: `${text}/`, kind: 'component' }
  if (mark === '+' && text.length !== PIECE) return undefined
  return { name, text, kind: mark === '+' ? 'piece' : 'blob' }
}

function encode(text: string): string {
  // The last piece of a long component may be `..`, which must not become the name of a folder.
  return text.replace(/[A-Z]|^\./g, (letter) => `^${letter.toLowerCase()}`)
}
