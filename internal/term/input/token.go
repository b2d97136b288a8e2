package input

import "unicode/utf8"

// maxString is the longest reply of a terminal that is kept while it is incomplete.
const maxString = 64 << 10

// token returns the length of the key or sequence at the start of b, or 0 if it is incomplete.
func token(b []byte) int {
	if b[0] != esc {
		return char(b)
	}
	if len(b) == 1 {
		return 0
	}
	switch b[1] {
	case '[':
		return csi(b)
	case 'O':
		for i := 2; i < len(b); i++ { // some terminals put modifiers before the final byte
			if b[i] < '0' || b[i] > '9' {
				return end(b, i)
			}
		}
		return 0
	case ']', 'P', '_', '^', 'X':
		return str(b)
	case esc: // Escape, or Alt with a key that sends a sequence
		if len(b) == 2 {
			return 0
		}
		if b[2] != '[' && b[2] != 'O' {
			return 1
		}
		if len(b) == 3 {
			return 0
		}
		n := token(b[1:])
		if n > 0 {
			n++
		}
		return n
	}
	n := char(b[1:])
	if r, _ := utf8.DecodeRune(b[1:]); n == 1 && r == utf8.RuneError {
		return 1 // Escape, then a byte that is not UTF-8
	}
	if n > 0 {
		n++
	}
	return n
}

// char returns the length of a UTF-8 character, or 1 for a byte that is none.
func char(b []byte) int {
	if !utf8.FullRune(b) {
		return 0
	}
	_, n := utf8.DecodeRune(b)
	return n
}

// end returns the length of a sequence whose final byte is at i. A control character is not part of
// the sequence, which is then malformed.
func end(b []byte, i int) int {
	if b[i] < 0x20 || b[i] >= 0x7f {
		return i
	}
	return i + 1
}

// csi returns the length of a control sequence: parameters, intermediate bytes and a final byte.
func csi(b []byte) int {
	i := 2
	if i < len(b) && b[i] == '[' { // the Linux console's function keys: ESC [ [ A
		if i++; i < len(b) {
			return end(b, i)
		}
		return 0
	}
	for ; i < len(b); i++ {
		switch {
		case i > maxString:
			return i
		case b[i] == '$' && b[2] != '?' && b[i-1] >= '0' && b[i-1] <= '9': // rxvt: Shift with a key
			return i + 1
		case b[i] < 0x20 || b[i] > 0x3f:
			return end(b, i)
		}
	}
	return 0
}

// str returns the length of a reply that ends with BEL or ESC \. Another escape sequence and CAN or
// SUB abort it.
func str(b []byte) int {
	for i := 2; i < len(b); i++ {
		switch b[i] {
		case 0x07, 0x18, 0x1a:
			return i + 1
		case esc:
			switch {
			case i+1 == len(b):
				return 0
			case b[i+1] == '\\':
				return i + 2
			}
			return i
		}
		if i > maxString {
			return i
		}
	}
	return 0
}
