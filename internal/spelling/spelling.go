// Package spelling finds the known word that a misspelled one probably means.
//
//	spelling.Nearest("Bsh", []string{"Bash", "Read"})              // "Bash"
//	spelling.Hint("Bsh", []string{"Bash", "Read"}, "the tools are") // "did you mean Bash?"
package spelling

import (
	"strings"
)

// longest is the maximum length in bytes of a compared word: the time is the product of the lengths.
const longest = 64

// Hint returns the second part of an error about an unknown word: "did you mean Bash?" or, if no known word
// is near, all of them: "the tools are Bash, Read".
func Hint(word string, known []string, otherwise string) string {
	if near := Nearest(word, known); near != "" {
		return "did you mean " + near + "?"
	}
	return otherwise + " " + strings.Join(known, ", ")
}

// Nearest returns the known word that word probably means, or "" if none is near: at most two
// edits away, or a quarter of a long word, and fewer for very short words. Case, hyphens, underscores
// and spaces make no difference. Of several words that are equally near, it returns the first.
func Nearest(word string, known []string) string {
	if len(word) > longest {
		return ""
	}
	folded := fold(word)
	near, edits, exact := "", longest, longest
	for _, k := range known {
		f := fold(k)
		most := min(max(2, len(f)/4), len(f)-1)
		if len(f)-len(folded) > most || len(folded)-len(f) > most {
			continue
		}
		n := Edits(folded, f)
		if n > most || n > edits {
			continue
		}
		if e := Edits(word, k); n < edits || e < exact {
			near, edits, exact = k, n, e
		}
	}
	return near
}

func fold(word string) string {
	return strings.ToLower(strings.NewReplacer("-", "", "_", "", " ", "").Replace(word))
}

// Edits is the Levenshtein distance of a and b: the number of bytes to insert, delete or
// replace to turn one into the other. The time is the product of their lengths.
func Edits(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			change := diagonal
			if a[i] != b[j] {
				change++
			}
			diagonal = row[j+1]
			row[j+1] = min(change, row[j]+1, diagonal+1)
		}
	}
	return row[len(b)]
}
