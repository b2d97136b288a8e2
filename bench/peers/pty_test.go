//go:build linux

package main

import (
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func TestVisible(t *testing.T) {
	for in, want := range map[string]string{
		"":                                    "",
		"\x1b[?2004h\x1b[>1u\x1b[?1007$p":     "",
		"\x1b]0;title\x07\x1b]11;?\x1b\\":     "",
		"\x1bP+q4d73\x1b\\\x1b_Gi=1;AA\x1b\\": "",
		"\x1b[1;31mred\x1b[m  \r\n\x1b7ж":     "redж",
		"\x1b]0;a title that is not compl":    "",
	} {
		if got := string(visible([]byte(in))); got != want {
			t.Errorf("visible(%q) = %q, want %q", in, got, want)
		}
	}
}

func TestAnswer(t *testing.T) {
	for _, tt := range []struct{ asked, want string }{
		{"\x1b[c", "\x1b[?62;22c"},
		{"\x1b[>0q\x1b[6n", "\x1bP>|bench 1\x1b\\\x1b[1;1R"},
		{"\x1b]11;?\x07", "\x1b]11;rgb:0000/0000/0000\x1b\\"},
		{"\x1b[?2026$p\x1b[?1016$p", "\x1b[?2026;2$y\x1b[?1016;0$y"},
		{"\x1b[?u", "\x1b[?0u"},
		{"text\x1b[1m", ""},
		{"\x1b[", ""}, // the rest comes later
	} {
		read, write, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		p := &pty{master: write, seen: []byte(tt.asked)}
		p.answer()
		p.answer() // a question is answered once
		write.Close()
		b := make([]byte, 1000)
		n, _ := read.Read(b)
		read.Close()
		if string(b[:n]) != tt.want {
			t.Errorf("answer to %q: %q, want %q", tt.asked, b[:n], tt.want)
		}
	}
}

func TestFlow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, began := newFlow(100, 200), time.Now()
		text := whole(f.parts(httptest.NewRecorder()))
		if took := time.Since(began); took != 500*time.Millisecond {
			t.Errorf("100 tokens at 200 per second took %v", took)
		}
		if f.sent != 100 || f.bytes != len(text) {
			t.Errorf("%d tokens, %d bytes; the text has %d", f.sent, f.bytes, len(text))
		}
		for _, l := range letters {
			if strings.Contains(text, l) {
				t.Errorf("the text contains %s, which is typed", l)
			}
		}
		f = newFlow(100, 200)
		for range f.parts(httptest.NewRecorder()) {
			if f.sent == 9 {
				close(f.stop)
			}
		}
		if <-f.ended; f.sent != 10 {
			t.Errorf("%d tokens were sent before the stop, want 10", f.sent)
		}
	})
}

func TestQuantile(t *testing.T) {
	all := []float64{5, 1, 4, 2, 3}
	for q, want := range map[float64]float64{0: 1, .5: 3, .99: 5, 1: 5} {
		if got := quantile(all, q); got != want {
			t.Errorf("quantile(%v) = %v, want %v", q, got, want)
		}
	}
}
