package markdown

import (
	"os"
	"strings"
	"testing"
)

// longText returns about n bytes of a typical answer.
func longText(t testing.TB, n int) string {
	page, err := os.ReadFile("testdata/page.md")
	if err != nil {
		t.Fatal(err)
	}
	return strings.Repeat(string(page)+"\n\n", n/len(page)+1)[:n]
}

// BenchmarkToken is the cost of one token of 5 bytes: Write, Done and Live. At 200 tokens/s, 1 % of a core is 50 µs.
func BenchmarkToken(b *testing.B) {
	for _, n := range []struct {
		name string
		size int
	}{{"start", 0}, {"after 200 kB", 200_000}} {
		b.Run(n.name, func(b *testing.B) {
			b.ReportAllocs()
			text := longText(b, 20_000)
			s := New(&Options{Style: TrueColor, Hyperlinks: true})
			s.Write(longText(b, n.size))
			s.Done(80)
			b.ResetTimer()
			for i := 0; b.Loop(); i++ {
				at := i * 5 % (len(text) - 5)
				s.Write(text[at : at+5])
				s.Done(80)
				s.Live(80)
			}
		})
	}
	b.Run("paragraph of 4 kB", func(b *testing.B) {
		s := New(&Options{Style: TrueColor})
		s.Write(strings.Repeat("some **words** of `a` paragraph\n", 120))
		for b.Loop() {
			s.look(80)
		}
	})
	b.Run("table of 50 rows", func(b *testing.B) {
		s := New(&Options{Style: TrueColor})
		s.Write("|a|b|c|\n|-|-|-|\n" + strings.Repeat("| some **words** | of `a` | table |\n", 50))
		for b.Loop() {
			s.look(80)
		}
	})
}
