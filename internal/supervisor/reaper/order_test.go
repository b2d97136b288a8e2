package reaper

import (
	"bytes"
	"reflect"
	"strings"
	"testing"
)

func TestOrder(t *testing.T) {
	for _, o := range []*Order{
		{Args: []string{"a"}, Env: []string{}},
		{Args: []string{"sh", "-c", "echo ü\n", ""}, Env: []string{"A=b", "C="}, Dir: "/x y", Channel: true, Adj: 800, Grace: 5000},
		{Args: []string{""}, Env: []string{""}, Confined: true, Terminal: true, Adj: -1},
		{Args: []string{strings.Repeat("x", 1<<20)}, Env: []string{}},
	} {
		var b bytes.Buffer
		if err := o.Write(&b); err != nil {
			t.Fatal(err)
		}
		got, err := Read(&b)
		if err != nil || !reflect.DeepEqual(got, o) {
			t.Errorf("%+v, %v", got, err)
		}
	}
	for _, o := range []*Order{
		{Args: []string{"a\x00b"}},
		{Args: []string{"a"}, Dir: "\x00"},
		{Args: []string{strings.Repeat("x", maxOrder)}},
	} {
		if err := o.Write(&bytes.Buffer{}); err == nil {
			t.Error("written")
		}
	}
}

func TestIsInvocation(t *testing.T) {
	for _, tt := range []struct {
		args string
		want bool
	}{
		{"supervise child", true}, {"supervise", false}, {"supervise child x", false}, {"run child", false},
	} {
		if got := IsInvocation(strings.Fields(tt.args)); got != tt.want {
			t.Errorf("%s: %v", tt.args, got)
		}
	}
}

func FuzzOrder(f *testing.F) {
	var b bytes.Buffer
	_ = (&Order{Args: []string{"sh", "-c", "true"}, Env: []string{"A=b"}, Dir: "/", Channel: true}).Write(&b)
	f.Add(b.Bytes())
	f.Add([]byte("\x10\x00\x00\x00000\x000\x000\x00/\x005\x00"))
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, b []byte) {
		o, err := Read(bytes.NewReader(b))
		if err != nil {
			return
		}
		if len(o.Args) == 0 {
			t.Fatal("no program")
		}
		var wire bytes.Buffer
		if err := o.Write(&wire); err != nil {
			t.Fatal(err)
		}
		again, err := Read(&wire)
		if err != nil || !reflect.DeepEqual(o, again) {
			t.Fatalf("%+v became %+v (%v)", o, again, err)
		}
	})
}
