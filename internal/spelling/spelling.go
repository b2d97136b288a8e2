// Package spelling says how far two words are apart, for "did you mean".
//
//	"Bsh" ──Edits──► 1 ◄── "Bash"
package spelling

// Edits is the Levenshtein distance of a and b: the bytes to add, take away or
// replace to make one of the other. The time is the product of their lengths.
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
