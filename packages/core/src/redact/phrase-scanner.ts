/** Units `[start, end)` that belong to a phrase. */
export interface PhraseRange {
  readonly start: number
  readonly end: number
}

export interface PhraseScan {
  /** In order; none overlaps another. */
  readonly ranges: readonly PhraseRange[]
  /** From here to the end everything may be the beginning of a phrase. */
  readonly openFrom: number
}

/**
 * Finds any number of phrases in one pass, as Aho and Corasick did ("Efficient string matching", 1975): time grows with
 * the text alone, however many phrases there are and whatever the text repeats.
 */
export class PhraseScanner {
  /** Transitions of node `n` on unit `u` at `n * 65536 + u`. */
  readonly #next: Map<number, number> = new Map()
  /** Of the first node, for units below 256: nearly all steps of nearly all texts. */
  readonly #first: Int32Array = new Int32Array(256)
  readonly #depth: number[] = [0]
  /** Length of the longest phrase that ends in a node, or 0. */
  readonly #found: number[] = [0]
  /** Node of the longest proper suffix. */
  readonly #suffix: number[] = [0]

  constructor(phrases: Iterable<ArrayLike<number>>) {
    const nodes: { readonly unit: number; readonly parent: number }[] = [{ unit: 0, parent: 0 }]
    for (const phrase of phrases) {
      let node = 0
      for (let i = 0; i < phrase.length; i++) node = this.#child(node, phrase[i]!, nodes)
      this.#found[node] = phrase.length
    }
    const byDepth = nodes.map((_, node) => node).sort((a, b) => this.#depth[a]! - this.#depth[b]!)
    for (const node of byDepth.slice(1)) {
      const { unit, parent } = nodes[node]!
      const suffix = parent === 0 ? 0 : this.#step(this.#suffix[parent]!, unit)
      this.#suffix[node] = suffix
      this.#found[node] = Math.max(this.#found[node]!, this.#found[suffix]!)
    }
  }

  scan(units: ArrayLike<number>): PhraseScan {
    const ranges: { start: number; end: number }[] = []
    let node = 0
    for (let i = 0; i < units.length; i++) {
      const unit = units[i]!
      node = node === 0 && unit < 256 ? this.#first[unit]! : this.#step(node, unit)
      const length = this.#found[node]!
      if (length > 0) addRange(ranges, i + 1 - length, i + 1)
    }
    return { ranges, openFrom: units.length - this.#depth[node]! }
  }

  #child(node: number, unit: number, nodes: { readonly unit: number; readonly parent: number }[]): number {
    const key = node * 65_536 + unit
    const known = this.#next.get(key)
    if (known !== undefined) return known
    const child = nodes.push({ unit, parent: node }) - 1
    this.#next.set(key, child)
    if (node === 0 && unit < 256) this.#first[unit] = child
    this.#depth.push(this.#depth[node]! + 1)
    this.#found.push(0)
    this.#suffix.push(0)
    return child
  }

  #step(from: number, unit: number): number {
    for (let node = from; ; node = this.#suffix[node]!) {
      const next = this.#next.get(node * 65_536 + unit)
      if (next !== undefined) return next
      if (node === 0) return 0
    }
  }
}

/** Ranges come in order of their ends; one that begins before the last one ends is one with it. */
function addRange(ranges: { start: number; end: number }[], start: number, end: number): void {
  let from = start
  for (let last = ranges.at(-1); last !== undefined && last.end > from; last = ranges.at(-1)) {
    from = Math.min(from, last.start)
    ranges.pop()
  }
  ranges.push({ start: from, end })
}
