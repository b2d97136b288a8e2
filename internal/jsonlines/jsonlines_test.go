package jsonlines

import (
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
)

func TestJSONLines(t *testing.T) {
	long := `{"x":"` + strings.Repeat("y", MaxLine) + `"}`
	wide := `{"x":"` + strings.Repeat("z", 200<<10) + `"}`
	l := New(strings.NewReader("\n{}\n  \n" + long + "\n" + wide + "\r\n{\"last\":1}"))
	var got []string
	for {
		line, err := l.Next()
		switch {
		case errors.Is(err, ErrLong):
			got = append(got, "long")
		case errors.Is(err, io.EOF):
			if want := []string{"{}", "long", wide, `{"last":1}`}; !slices.Equal(got, want) {
				t.Errorf("got %d lines", len(got))
			}
			if l.Number != 7 {
				t.Errorf("counted %d", l.Number)
			}
			return
		case err != nil:
			t.Fatal(err)
		default:
			got = append(got, string(line))
		}
	}
}
