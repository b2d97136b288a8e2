package jsonscan

import "bytes"

// The functions below find where values end without decoding them. They are for checked JSON;
// on other bytes they stop early and never read past the end.

// SkipSpace returns the index of the first byte at or after b[i] that is not white space.
func SkipSpace(b []byte, i int) int {
	for i < len(b) && IsSpace(b[i]) {
		i++
	}
	return i
}

// StringEnd returns the index after the string that starts at b[i] with its quote, or -1.
func StringEnd(b []byte, i int) int {
	i++
	for near := min(i+24, len(b)); i < near; i++ { // most strings are short
		switch b[i] {
		case '"':
			return i + 1
		case '\\':
			i++
		}
	}
	if i > len(b) {
		return -1
	}
	for from := i; ; {
		j := bytes.IndexByte(b[i:], '"')
		if j < 0 {
			return -1
		}
		j += i
		k := j
		for k > from && b[k-1] == '\\' {
			k--
		}
		i = j + 1
		if (j-k)%2 == 0 {
			return i
		}
	}
}

// ValueEnd returns the index after the value that starts at b[i], or -1.
func ValueEnd(b []byte, i int) int {
	if i >= len(b) {
		return -1
	}
	switch b[i] {
	case '"':
		return StringEnd(b, i)
	case '{', '[':
		return nestedEnd(b, i)
	}
	from := i
	for i < len(b) && b[i] != ',' && b[i] != '}' && b[i] != ']' && !IsSpace(b[i]) {
		i++
	}
	if i == from {
		return -1
	}
	return i
}

// nestedEnd is ValueEnd for an object or an array.
func nestedEnd(b []byte, i int) int {
	for depth := 0; i < len(b); {
		switch b[i] {
		case '"':
			if i = StringEnd(b, i); i < 0 {
				return -1
			}
			continue
		case '{', '[':
			depth++
		case '}', ']':
			if depth--; depth == 0 {
				return i + 1
			}
		}
		i++
	}
	return -1
}
