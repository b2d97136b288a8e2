package transcript

import (
	"strings"
	"testing"
)

// sessionItems makes n items of about size bytes like those of a session: prompts, answers with a
// tool use, and results.
func sessionItems(n, size int) [][]byte {
	text := strings.Repeat("The quick brown fox said \"jump\",\n\tand jumped. ", size/40+1)[:size*3/4]
	var out [][]byte
	for i := range n {
		var it Item
		switch i % 3 {
		case 0:
			it = UserText(text)
		case 1:
			it = Item{Role: RoleAssistant, Model: "m", Finish: FinishToolUse, Usage: &Usage{Input: 10, Output: 5}, Parts: []Part{
				Text{Text: text[:size/3]}, ToolUse{ID: "use-" + itoa(i), Name: "Edit", Input: []byte(`{"file_path":"a.go","old_string":"` + strings.Repeat("x", size/3) + `"}`)},
			}}
		case 2:
			it = ToolResult{UseID: "use-" + itoa(i-1), Content: []Part{Text{Text: text}}}.Item()
		}
		it.ID = "item-" + itoa(i)
		out = append(out, it.MustEncode().JSON)
	}
	return out
}

func itoa(i int) string {
	const digits = "0123456789"
	b := make([]byte, 6)
	for k := 5; k >= 0; k-- {
		b[k] = digits[i%10]
		i /= 10
	}
	return string(b)
}

// The target is 8 ms for 10,000 items of 1.4 KB.
func BenchmarkIndexTrusted(b *testing.B) {
	items := sessionItems(10_000, 1400)
	size := 0
	for _, it := range items {
		size += len(it)
	}
	b.SetBytes(int64(size))
	b.ReportAllocs()
	for b.Loop() {
		for _, it := range items {
			if _, err := index(it); err != nil {
				b.Fatal(err)
			}
		}
	}
}

// Append takes constant time: the last item costs as much as the first.
func BenchmarkAppend(b *testing.B) {
	for _, n := range []int{100, 10_000} {
		b.Run(itoa(n), func(b *testing.B) {
			var items []Encoded
			for _, raw := range sessionItems(n, 1400) {
				e, err := index(raw)
				if err != nil {
					b.Fatal(err)
				}
				items = append(items, e)
			}
			b.ReportAllocs()
			for b.Loop() {
				if err := new(Transcript).Append(items...); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*n), "ns/item")
		})
	}
}
