package main

import (
	"encoding/xml"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"time"
)

// shown returns what a line shows at the end.
func shown(frames []frame) (text string) {
	if len(frames) == 0 {
		return ""
	}
	for _, s := range frames[len(frames)-1].spans {
		text += s.text
	}
	return text
}

func TestScreen(t *testing.T) {
	for _, tt := range []struct {
		name    string
		columns int
		output  []string
		want    []string
	}{
		{"lines", 20, []string{"a\r\nb\r\n"}, []string{"a", "b"}},
		{"the terminal wraps", 4, []string{"abcdefgh\r\nij"}, []string{"abcd", "efgh", "ij"}},
		{"erase line", 20, []string{"⠙ Bash\r", "\x1b[K  └ ok\r\n"}, []string{"  └ ok"}},
		{"colors", 20, []string{"\x1b[1;31mno\x1b[0m yes"}, []string{"no yes"}},
		{"a sequence in two chunks", 20, []string{"a\x1b[3", "1mb"}, []string{"ab"}},
		{"a rune in two chunks", 20, []string{"a\xe2\x94", "\x94b"}, []string{"a└b"}},
		{"a title is not shown", 20, []string{"\x1b]0;title\x07a"}, []string{"a"}},
		{"empty lines at the end", 20, []string{"a\r\n\r\n \r\n"}, []string{"a"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var chunks []chunk
			for i, o := range tt.output {
				chunks = append(chunks, chunk{time.Duration(i) * time.Second, o})
			}
			var got []string
			for _, l := range newScreen(tt.columns, chunks).lines {
				got = append(got, shown(l))
			}
			if !slices.Equal(got, tt.want) {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

func TestLook(t *testing.T) {
	s := &screen{columns: 20, lines: make([][]frame, 3)}
	s.look("\x1b[1mbox\x1b[0m\n\x1b[33mquestion\x1b[39m\n\n", 0)
	s.look("answer\n\x1b[1mbox\x1b[0m\n", 1)
	s.look("answer\nbox\n", 2)
	s.look("answer\n", 3)
	for i, want := range []string{"answer", "", ""} {
		if got := shown(s.lines[i]); got != want {
			t.Errorf("line %d is %q at the end, want %q", i, got, want)
		}
	}
	if n := len(s.lines[1]); n != 4 {
		t.Errorf("the second line has %d frames, want 4", n)
	}
	if len(s.lines[2]) > 1 {
		t.Errorf("a line that stays empty has the frames %v", s.lines[2])
	}
}

func TestLongPausesAreShortened(t *testing.T) {
	lines := newScreen(20, []chunk{{0, "a\r\n"}, {time.Hour, "b\r\n"}}).lines
	if at := lines[1][0].at; at > maxPause+1 {
		t.Errorf("the second line appears after %.1f s", at)
	}
}

func TestDraw(t *testing.T) {
	sc := recording{title: `a "title" & more`, columns: 20, rows: 2}
	chunks := []chunk{{0, "$ <x>\r\n"}, {time.Second, "\x1b[32mok\x1b[0m\r\n"}, {2 * time.Second, "end\r\n"}}
	picture := draw(sc, newScreen(sc.columns, chunks).lines)
	d := xml.NewDecoder(strings.NewReader(string(picture)))
	for {
		if _, err := d.Token(); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
	}
	for _, want := range []string{"$ &lt;x&gt;", `<tspan class="c2">ok</tspan>`, "translateY(-20px)", "prefers-reduced-motion"} {
		if !strings.Contains(string(picture), want) {
			t.Errorf("no %q in\n%s", want, picture)
		}
	}
	if again := draw(sc, newScreen(sc.columns, chunks).lines); string(again) != string(picture) {
		t.Error("the same output makes another picture")
	}
}
