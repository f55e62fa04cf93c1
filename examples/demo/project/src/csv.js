/**
 * Parses CSV as RFC 4180 describes it: fields may be quoted, a quoted field may hold commas and line ends, and a quote
 * inside a quoted field is doubled.
 */
export function parseCsv(text) {
  const rows = []
  let row = []
  let field = ''
  let quoted = false
  for (let i = 0; i < text.length; i++) {
    const character = text[i]
    if (quoted) {
      if (character === '"') quoted = false
      else field += character
    } else if (character === '"') quoted = true
    else if (character === ',') {
      row.push(field)
      field = ''
    } else if (character === '\n') {
      row.push(field)
      rows.push(row)
      row = []
      field = ''
    } else if (character !== '\r') field += character
  }
  if (field !== '' || row.length > 0) rows.push([...row, field])
  return rows
}
