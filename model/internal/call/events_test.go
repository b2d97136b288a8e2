package call

import (
	"bufio"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
)

func readEvents(r io.Reader) (all []string, err error) {
	e := NewEvents(r)
	for e.Next() {
		all = append(all, string(e.Data()))
	}
	return all, e.Err()
}

func TestEvents(t *testing.T) {
	long := strings.Repeat("x", 100<<10)
	for name, tt := range map[string]struct {
		in   string
		want []string
	}{
		"nothing":                         {"", nil},
		"one":                             {"data: a\n\n", []string{"a"}},
		"two, names and ids skipped":      {"event: message\nid: 7\ndata: a\n\nevent: ping\ndata: b\n\n", []string{"a", "b"}},
		"several lines of data":           {"data: a\ndata: b\ndata\n\n", []string{"a\nb\n"}},
		"no space after the colon":        {"data:a\n\n", []string{"a"}},
		"only one space is cut":           {"data:  a\n\n", []string{" a"}},
		"CRLF":                            {"data: a\r\n\r\ndata: b\r\n\r\n", []string{"a", "b"}},
		"comments and unknown fields":     {": hello\nretry: 5\ndatas: no\ndata: a\n\n", []string{"a"}},
		"an event without data is none":   {"event: ping\n\ndata: a\n\n", []string{"a"}},
		"empty data is an event":          {"data:\n\n", []string{""}},
		"an event without an end is none": {"data: a\n\ndata: b\n", []string{"a"}},
		"a line without an end is none":   {"data: a\n\ndata: b", []string{"a"}},
		"longer than the buffer":          {"data: " + long + "\n\ndata: b\n\n", []string{long, "b"}},
		"blank lines between":             {"\n\n\ndata: a\n\n\n\ndata: b\n\n", []string{"a", "b"}},
	} {
		t.Run(name, func(t *testing.T) {
			for way, in := range map[string]io.Reader{
				"whole": strings.NewReader(tt.in), "byte by byte": iotest.OneByteReader(strings.NewReader(tt.in)),
			} {
				got, err := readEvents(in)
				if err != nil || !slices.Equal(got, tt.want) {
					t.Errorf("%s: %q, %v", way, got, err)
				}
			}
		})
	}
}

func TestEventsBrokenOff(t *testing.T) {
	cut := errors.New("cut")
	got, err := readEvents(io.MultiReader(strings.NewReader("data: a\n\ndata: b"), iotest.ErrReader(cut)))
	if !slices.Equal(got, []string{"a"}) || !errors.Is(err, cut) {
		t.Errorf("got %q, %v", got, err)
	}
}

func TestEventsAreBounded(t *testing.T) {
	for name, line := range map[string]string{
		"one line":       strings.Repeat("x", 1<<20),
		"many data rows": "\ndata: " + strings.Repeat("y", 1<<20),
	} {
		in := io.MultiReader(strings.NewReader("data: "), &repeated{text: line})
		if _, err := readEvents(in); !errors.Is(err, bufio.ErrTooLong) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// repeated reads the same text for ever.
type repeated struct {
	text string
	at   int
}

func (r *repeated) Read(p []byte) (int, error) {
	n := copy(p, r.text[r.at:])
	r.at = (r.at + n) % len(r.text)
	return n, nil
}

func FuzzEvents(f *testing.F) {
	f.Add("data: a\n\nevent: x\r\ndata:b\r\ndata\r\n\r\n: c\n")
	f.Fuzz(func(t *testing.T, in string) {
		whole, err := readEvents(strings.NewReader(in))
		parts, err2 := readEvents(iotest.HalfReader(strings.NewReader(in)))
		if !slices.Equal(whole, parts) || err != nil || err2 != nil {
			t.Errorf("%q %v, in parts %q %v", whole, err, parts, err2)
		}
	})
}
