package shellparse

// parseSimple parses a line that is one command with plain words, without using the parser. It
// reports whether the line is such a command. The result is the same as that of the parser.
func (f *frame) parseSimple(s *scope, in *stdin) bool {
	if len(f.src) > MaxLine {
		return false
	}
	n, inWord := 0, false
	for i := range len(f.src) {
		c := f.src[i]
		switch {
		case c == ' ':
			inWord = false
			continue
		case plainByte[c]:
		case c == '=' && n > 1:
		default:
			return false
		}
		if !inWord {
			n++
		}
		inWord = true
	}
	if n == 0 {
		return false
	}
	words := make([]word, 0, n)
	first, last := -1, 0
	for i := 0; i < len(f.src); {
		if f.src[i] == ' ' {
			i++
			continue
		}
		start := i
		for i < len(f.src) && f.src[i] != ' ' {
			i++
		}
		if first < 0 {
			first = start
		}
		last = i
		words = append(words, word{text: f.src[start:i], static: true})
	}
	if isReserved(words[0].text) {
		return false
	}
	f.step()
	f.out.Commands = make([]Command, 1, 2)
	f.invoke(s, &command{words: words, in: in, source: f.src[first:last], shell: true})
	return true
}
