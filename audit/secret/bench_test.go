package secret

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

// logText is about 1 MiB of a server's log, with a secret in every nth line.
func logText(nth int) string {
	var b strings.Builder
	for i := 0; b.Len() < 1<<20; i++ {
		fmt.Fprintf(&b, "2026-01-02T15:04:05.%03dZ INFO  server/http.go:%d request %08x GET /v1/items/%d?page=2 status=200 bytes=%d dur=%dms\n", i%1000, i%400, i*2654435761, i, i*37, i%90)
		if nth > 0 && i%nth == 0 {
			fmt.Fprintf(&b, "authorization: bearer %s\n", token)
		}
	}
	return b.String()
}

func BenchmarkText(b *testing.B) {
	m := newMasker(b)
	for name, text := range map[string]string{
		"without": logText(0), "one in 1000 lines": logText(1000), "one in 10 lines": logText(10),
		"the word alone in each line": strings.Repeat("INFO  4711 tokens were used in this round of the conversation, none of them twice\n", 1<<20/83),
	} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			b.ReportAllocs()
			for b.Loop() {
				m.Text(text)
			}
		})
	}
}

func BenchmarkJSON(b *testing.B) {
	m := newMasker(b)
	for name, text := range map[string]string{"without": logText(0), "one in 1000 lines": logText(1000)} {
		raw, _ := json.Marshal(map[string]string{"text": text})
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(raw)))
			b.ReportAllocs()
			for b.Loop() {
				m.JSON(raw)
			}
		})
	}
}

func BenchmarkNew(b *testing.B) {
	for b.Loop() {
		newMasker(b)
	}
}

func TestNoAllocation(t *testing.T) {
	m := newMasker(t)
	text := logText(0)[:4096]
	raw := json.RawMessage(`{"text":"a plain sentence about nothing"}`)
	if n := testing.AllocsPerRun(20, func() { m.Text(text); m.JSON(raw) }); n != 0 {
		t.Errorf("%v allocations where nothing is found", n)
	}
}
