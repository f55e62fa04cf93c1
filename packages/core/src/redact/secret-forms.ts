/**
 * Every text that gives a secret away: the secret itself and what common programs make of it. Line breaks may have become
 * CR LF (a terminal does that), the last one may be gone, and base64 may be wrapped at 64 or 76 columns.
 */
export function secretForms(secret: string): readonly string[] {
  const forms = new Set<string>()
  for (const plain of new Set([secret, secret.trim(), secret.replace(/\r?\n/g, '\r\n')])) {
    if (plain === '') continue
    const bytes = Buffer.from(plain, 'utf8')
    forms.add(plain)
    forms.add(JSON.stringify(plain).slice(1, -1))
    forms.add(bytes.toString('hex'))
    forms.add(bytes.toString('hex').toUpperCase())
    for (const form of [...percentForms(plain), ...base64Forms(bytes)]) forms.add(form)
  }
  return [...forms]
}

/** encodeURIComponent, RFC 3986, HTML forms, and with slashes kept or space as +; hex digits in both cases. */
function percentForms(plain: string): string[] {
  const component = encodeURIComponent(Buffer.from(plain, 'utf8').toString('utf8'))
  const strict = component.replace(/[!'()*]/g, (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`)
  const ofForm = new URLSearchParams({ s: plain }).toString().slice(2)
  const forms = [component, strict, ofForm].flatMap((form) => [
    form,
    form.replaceAll('%2F', '/'),
    form.replaceAll('%20', '+'),
  ])
  return [...forms, ...forms.map((form) => form.replace(/%[0-9A-F]{2}/g, (escape) => escape.toLowerCase()))]
}

/**
 * A secret within something longer begins at one of three places of a group of three bytes. Characters that hold bits of
 * the secret alone are its form there; those at the edges, shared with a neighbour, tell at most four bits each.
 */
function base64Forms(bytes: Buffer): string[] {
  const whole = bytes.toString('base64')
  const forms = [whole, whole.replace(/=+$/, ''), wrap(whole, 64), wrap(whole, 76)]
  for (const offset of [0, 1, 2]) {
    const encoded = Buffer.concat([Buffer.alloc(offset), bytes]).toString('base64')
    forms.push(encoded.slice(Math.ceil((offset * 8) / 6), Math.floor(((offset + bytes.length) * 8) / 6)))
  }
  return [...forms, ...forms.map((form) => form.replaceAll('+', '-').replaceAll('/', '_'))]
}

function wrap(text: string, columns: number): string {
  return text.replace(new RegExp(`.{${columns}}(?=.)`, 'g'), '$&\n')
}
