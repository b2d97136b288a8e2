package shellread

import "strings"

func read(line string, _ *Options) *Reading {
	return &Reading{Unclear: []string{"not read yet: " + line}}
}

func canonical(words []string) string { return strings.Join(words, " ") }
