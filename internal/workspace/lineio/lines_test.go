package lineio_test

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/holdfast-dev/holdfast/internal/workspace/lineio"
)

func TestReader(t *testing.T) {
	long := strings.Repeat("x", 20<<20)
	for in, want := range map[string][]string{
		"":                       nil,
		"\n \r\n\t\n":            nil,
		"a\nb\n":                 {"a", "b"},
		"  a  \r\n\n\nb":         {"a", "b"},
		"torn":                   {"torn"},
		long + "\nshort\n":       {long, "short"},
		"\x00\n\xff\xfe\nlast\n": {"\x00", "\xff\xfe", "last"},
	} {
		r := lineio.NewReader(strings.NewReader(in))
		var got []string
		for {
			line, err := r.Next()
			if err != nil {
				if !errors.Is(err, io.EOF) {
					t.Errorf("of %.20q: %v", in, err)
				}
				break
			}
			got = append(got, string(line))
		}
		if strings.Join(got, "|") != strings.Join(want, "|") {
			t.Errorf("of %.20q: %.60q", in, got)
		}
	}
}

// A returned line is not changed by later reads.
func TestReaderLinesAreCopies(t *testing.T) {
	r := lineio.NewReader(iotest.OneByteReader(strings.NewReader("first\nsecond\n")))
	a, _ := r.Next()
	b, _ := r.Next()
	if string(a) != "first" || string(b) != "second" {
		t.Errorf("%q %q", a, b)
	}
}

func TestReaderBreaks(t *testing.T) {
	broken := errors.New("broken")
	r := lineio.NewReader(io.MultiReader(strings.NewReader("a\n"), iotest.ErrReader(broken)))
	if line, err := r.Next(); string(line) != "a" || err != nil {
		t.Errorf("%q %v", line, err)
	}
	if _, err := r.Next(); !errors.Is(err, broken) {
		t.Error(err)
	}
}

// A program that does not read does not block writers, and Close ends it.
func TestWriterWithoutReader(t *testing.T) {
	r, w := io.Pipe()
	out := lineio.NewWriter(w)
	for range 1000 {
		out.Send([]byte("this is not read"))
	}
	out.Close()
	out.Send([]byte("and this is dropped"))
	if _, err := r.Read(make([]byte, 1)); !errors.Is(err, io.EOF) {
		t.Errorf("after the end: %v", err)
	}
}

func TestWriterBrokenPipe(t *testing.T) {
	r, w := io.Pipe()
	_ = r.Close()
	out := lineio.NewWriter(w)
	out.Send([]byte("x"))
	out.Close()
}

func ExampleNewReader() {
	line, err := lineio.NewReader(strings.NewReader("\n first \n")).Next()
	fmt.Printf("%q %v\n", line, err)
	// Output: "first" <nil>
}

func ExampleNewWriter() {
	r, w := io.Pipe()
	out := lineio.NewWriter(w)
	defer out.Close()
	out.Send([]byte("a line"))
	b := make([]byte, 7)
	_, err := io.ReadFull(r, b)
	fmt.Printf("%q %v\n", b, err)
	// Output: "a line\n" <nil>
}
