package diff

import (
	"fmt"
	"strings"
	"testing"
)

// The largest diff that a question shows replaces every line of a file.
func BenchmarkReplacedFile(b *testing.B) {
	var old, fresh strings.Builder
	for i := range 1000 {
		fmt.Fprintf(&old, "-\tfunction number %d(argument int) error {\n", i)
		fmt.Fprintf(&fresh, "+    let value_%d = compute(%d, something else);\n", i, i)
	}
	text := "@@ -1,1000 +1,1000 @@\n" + old.String() + fresh.String()
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		Lines(&Options{}, text, 120, true)
	}
}
