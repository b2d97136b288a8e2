package engine

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"
)

func frame(kind byte, text string) string {
	return string(binary.BigEndian.AppendUint32([]byte{kind, 0, 0, 0}, uint32(len(text)))) + text
}

func TestSplit(t *testing.T) {
	large := strings.Repeat("\xff\x00line\n", 100_000)
	for _, tt := range []struct{ name, stream, output, errors, fails string }{
		{"nothing", "", "", "", ""},
		{"output and errors", frame(1, "a") + frame(2, "b") + frame(1, "c") + frame(0, "d"), "acd", "b", ""},
		{"an empty frame", frame(1, "") + frame(1, "x"), "x", "", ""},
		{"no UTF-8", frame(1, "\xff\xfe\x80") + frame(2, "\xc3"), "\xff\xfe\x80", "\xc3", ""},
		{"a large frame", frame(1, large) + frame(2, "e"), large, "e", ""},
		{"the engine's own", frame(1, "a") + frame(3, "it lost the process") + frame(1, "b"), "a", "", "error of the engine: it lost the process"},
		{"an unknown kind", frame(1, "a") + frame(9, "b"), "a", "", "unknown kind 9"},
		{"cut in a frame", frame(1, "abc")[:10], "ab", "", io.ErrUnexpectedEOF.Error()},
		{"cut in a header", frame(1, "a") + frame(1, "abc")[:5], "a", "", io.ErrUnexpectedEOF.Error()},
		{"cut after a header", frame(2, "abc")[:8], "", "", io.ErrUnexpectedEOF.Error()},
		{"a wrong size", frame(1, "x")[:4] + "\xff\xff\xff\xffabc", "abc", "", io.ErrUnexpectedEOF.Error()},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for how, r := range map[string]io.Reader{
				"as it is": strings.NewReader(tt.stream), "in halves": iotest.HalfReader(strings.NewReader(tt.stream)), "with the end": iotest.DataErrReader(strings.NewReader(tt.stream)),
			} {
				var output, errs bytes.Buffer
				err := split(&output, &errs, r)
				if output.String() != tt.output || errs.String() != tt.errors {
					t.Errorf("%s: %d and %d bytes", how, output.Len(), errs.Len())
				}
				if (err == nil) != (tt.fails == "") || err != nil && !strings.Contains(err.Error(), tt.fails) {
					t.Errorf("%s: %v", how, err)
				}
			}
		})
	}
	broken := errors.New("broken")
	if err := split(io.Discard, io.Discard, io.MultiReader(strings.NewReader(frame(1, "abc")[:9]), iotest.ErrReader(broken))); !errors.Is(err, broken) {
		t.Errorf("%v", err)
	}
	r, w := io.Pipe()
	_ = r.CloseWithError(broken)
	if err := split(w, io.Discard, strings.NewReader(frame(1, "abc"))); !errors.Is(err, broken) {
		t.Errorf("%v", err)
	}
}

func FuzzSplit(f *testing.F) {
	f.Add([]byte(frame(1, "a")+frame(2, "b")), []byte("more"))
	f.Add([]byte("\x01\x00\x00\x00\xff\xff\xff\xff"), []byte{})
	f.Fuzz(func(t *testing.T, output, junk []byte) {
		var got, errs bytes.Buffer
		_ = split(&got, &errs, bytes.NewReader(junk)) // with any input
		got.Reset()
		errs.Reset()
		stream := frame(1, string(output)) + frame(2, string(junk))
		if err := split(&got, &errs, strings.NewReader(stream)); err != nil || !bytes.Equal(got.Bytes(), output) || !bytes.Equal(errs.Bytes(), junk) {
			t.Errorf("%v", err)
		}
	})
}
