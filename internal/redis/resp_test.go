package redis

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"reflect"
	"runtime"
	"strings"
	"testing"
)

func decode(text string) (any, error) {
	return readReply(bufio.NewReaderSize(strings.NewReader(text), bufferSize), maxReply)
}

func TestReadReply(t *testing.T) {
	long := strings.Repeat("x", 3<<20)
	for text, want := range map[string]any{
		"+OK\r\n":                           "OK",
		"+\r\n":                             "",
		"-ERR no\r\n":                       Error("ERR no"),
		":-17\r\n":                          int64(-17),
		"$0\r\n\r\n":                        "",
		"$3\r\na\r\n\r\n":                   "a\r\n",
		"$-1\r\n":                           nil,
		"*-1\r\n":                           nil,
		"*0\r\n":                            []any{},
		"*3\r\n:1\r\n$-1\r\n*1\r\n-X y\r\n": []any{int64(1), nil, []any{Error("X y")}},
		"$3145728\r\n" + long + "\r\n":      long,
		"-" + long[:40_000] + "\r\n":        Error(long[:40_000]),
		"$16384\r\n" + long[:bufferSize] + "\r\n": long[:bufferSize],
		"$16382\r\n" + long[:16382] + "\r\n":      long[:16382],
	} {
		got, err := decode(text)
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%.60q: %.60v %v, want %.60v", text, got, err, want)
		}
	}
}

func TestBadReply(t *testing.T) {
	for text, want := range map[string]error{
		"":                       io.EOF,
		"+OK":                    io.ErrUnexpectedEOF,
		"$5\r\nabc":              io.ErrUnexpectedEOF,
		"$5\r\nabcde":            io.ErrUnexpectedEOF,
		"$20000\r\nabcde":        io.ErrUnexpectedEOF,
		"*2\r\n:1\r\n":           io.ErrUnexpectedEOF,
		"\r\n":                   ErrProtocol,
		"+OK\n":                  ErrProtocol,
		"HTTP/1.1 400 Bad\r\n":   ErrProtocol,
		":x\r\n":                 ErrProtocol,
		":\r\n":                  ErrProtocol,
		"$-2\r\n":                ErrProtocol,
		"$536870913\r\n":         ErrProtocol,
		"$99999999999999999\r\n": ErrProtocol,
		"*x\r\n":                 ErrProtocol,
		"*999999999\r\n":         ErrProtocol,
		"$1\r\nab\r\n":           ErrProtocol,
		"$20000\r\n" + strings.Repeat("x", 20_002):  ErrProtocol,
		"+" + strings.Repeat("x", maxLine) + "\r\n": ErrProtocol,
		strings.Repeat("*1\r\n", maxDepth+2):        ErrProtocol,
		"%1\r\n+a\r\n+b\r\n":                        ErrProtocol, // RESP3 was not asked for
	} {
		if got, err := decode(text); !errors.Is(err, want) {
			t.Errorf("%.60q: %.60v %v, want %v", text, got, err, want)
		}
	}
}

// Announced sizes use no memory before the bytes arrive.
func TestAnnouncedSizesTakeNoMemory(t *testing.T) {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for range 20 {
		if _, err := decode("$536870912\r\nx"); err == nil {
			t.Fatal("half a string is one")
		}
		if _, err := decode("*16777216\r\n"); err == nil {
			t.Fatal("half a list is one")
		}
	}
	runtime.ReadMemStats(&after)
	if got := after.TotalAlloc - before.TotalAlloc; got > 60<<20 {
		t.Errorf("%d bytes were allocated", got)
	}
}

func TestBudget(t *testing.T) {
	text := "*3\r\n:1\r\n:1\r\n:1\r\n"
	for budget, want := range map[int]error{4*perValue + 8: nil, 4 * perValue: ErrProtocol} {
		if _, err := readReply(bufio.NewReader(strings.NewReader(text)), budget); !errors.Is(err, want) {
			t.Errorf("%d: %v", budget, err)
		}
	}
}

func TestWriteCommand(t *testing.T) {
	var b bytes.Buffer
	w := bufio.NewWriter(&b)
	if err := (Command{"SET", []byte("k\r\n"), -1, int64(5), uint64(1<<63 + 1), true, false, ""}).write(w); err != nil {
		t.Fatal(err)
	}
	w.Flush()
	want := "*8\r\n$3\r\nSET\r\n$3\r\nk\r\n\r\n$2\r\n-1\r\n$1\r\n5\r\n$19\r\n9223372036854775809\r\n$1\r\n1\r\n$1\r\n0\r\n$0\r\n\r\n"
	if b.String() != want {
		t.Errorf("%q", b.String())
	}
	if err := (Command{"SET", 1.5}).write(w); err == nil {
		t.Error("a fraction is sent")
	}
}

func TestErrorCodes(t *testing.T) {
	for text, want := range map[Error]bool{
		"NOSCRIPT No matching script.": true, "ERR NOSCRIPT x": true, "NOSCRIPT": true, "NOSCRIPTS x": false, "ERR no": false, "": false,
	} {
		if HasCode(text, "NOSCRIPT") != want {
			t.Error(text)
		}
	}
	if HasCode(errors.New("NOSCRIPT"), "NOSCRIPT") || HasCode(nil, "NOSCRIPT") {
		t.Error("not a server's")
	}
}

// Reading any reply ends, and a reply that was written again reads the same.
func FuzzReply(f *testing.F) {
	for _, s := range []string{"+OK\r\n", "-ERR x\r\n", ":1\r\n", "$1\r\na\r\n", "*2\r\n$-1\r\n*0\r\n", "$536870912\r\n", "*16777216\r\n*16777216\r\n"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		v, err := decode(text)
		if err != nil {
			return
		}
		again, err := decode(encode(v))
		if err != nil || !reflect.DeepEqual(v, again) {
			t.Errorf("%q: %v, then %v %v", text, v, again, err)
		}
	})
}

// encode is how a server writes a value.
func encode(v any) string {
	var b bytes.Buffer
	w := bufio.NewWriter(&b)
	encodeTo(w, v)
	w.Flush()
	return b.String()
}

func encodeTo(w *bufio.Writer, v any) {
	switch v := v.(type) {
	case nil:
		_, _ = w.WriteString("$-1\r\n")
	case string:
		writeLen(w, '$', len(v))
		_, _ = w.WriteString(v + "\r\n")
	case Error:
		_, _ = w.WriteString("-" + string(v) + "\r\n")
	case int64:
		writeLen(w, ':', int(v))
	case []any:
		writeLen(w, '*', len(v))
		for _, e := range v {
			encodeTo(w, e)
		}
	}
}
