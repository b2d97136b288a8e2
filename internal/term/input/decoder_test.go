package input

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	uv "github.com/charmbracelet/ultraviolet"
	"pgregory.net/rapid"
)

// names returns events as text: the key, or the kind of event with its content.
func names(events []uv.Event) string {
	var out []string
	for _, e := range events {
		switch e := e.(type) {
		case uv.KeyPressEvent:
			s := e.Keystroke()
			if e.Text != "" {
				s = e.Text
			}
			out = append(out, s)
		case uv.PasteEvent:
			out = append(out, fmt.Sprintf("paste %q", e.Content))
		default:
			out = append(out, strings.TrimPrefix(fmt.Sprintf("%T", e), "uv."))
		}
	}
	return strings.Join(out, " ")
}

var decodeTests = []struct{ in, want string }{
	{"aB", "a B"},
	{"é日🙂", "é 日 🙂"},
	{"e\u0301", "e \u0301"},
	{"\r\n\t\x7f\x03\x1a", "enter ctrl+j tab backspace ctrl+c ctrl+z"},
	{"\x1b[A\x1b[B\x1bOC\x1b[D\x1b[H\x1b[4~", "up down right left home end"},
	{"\x1b[3~\x1b[5~\x1b[1;5C\x1b[Z", "delete pgup ctrl+right shift+tab"},
	{"\x1bb\x1b\r\x1b\x7f\x1bé", "alt+b alt+enter alt+backspace alt+é"},
	{"\x1b\x1b[A", "alt+up"},
	{"\x1b\x1b", "esc esc"},
	{"\x1b\x1bx", "esc alt+x"},
	{"\x1b\x1b\x1b", "esc esc esc"},
	{"\x1b", "esc"},
	{"\x1b[", "alt+["},
	{"\x1b]", "alt+]"},
	{"\x1b[1;", ""},
	{"\x1b[13;2u\x1b[27u\x1b[99;5u", "shift+enter esc ctrl+c"},
	{"\x1b[27;2;13~", "shift+enter"},
	{"\x1b[I\x1b[O", "FocusEvent BlurEvent"},
	{"\x1b[200~a\r\nb\rc\x1b[31m\xff日\x1b[201~x", `paste "a\nb\nc\x1b[31m日" x`},
	{"\x1b[200~\x1b[201~", `paste ""`},
	{"\x1b[200~never ends", ""},
	{"a\xffb\xe6\x97", "a b"},
	{"\xe6a\x80\u009b2J", "a 2 J"},
	{"\x1b\xffx", "esc x"},
	{"\x1b]11;rgb:ffff/ffff/ffff\x1b\\x", "BackgroundColorEvent x"},
	{"\x1b]0;title\ax\x1bPunknown\x1b\\y\x1b_apc\x1b\\z", "x y z"},
	{"\x1b]never \x1b[A", "up"},
	{"\x1b[12;3\x01x", "ctrl+a x"},
	{"\x1b[?62;c\x1b[>1;2c\x1b[?2026;2$yk", "PrimaryDeviceAttributesEvent ModeReportEvent k"},
	{"\x1b[[A", "f1"},
}

func decodeAll(parts ...string) []uv.Event {
	var d Decoder
	var events []uv.Event
	for _, p := range parts {
		events = append(events, d.Feed([]byte(p))...)
	}
	for d.Wait() > 0 {
		events = append(events, d.Flush()...)
	}
	return events
}

func TestDecode(t *testing.T) {
	for _, tt := range decodeTests {
		if got := names(decodeAll(tt.in)); got != tt.want {
			t.Errorf("%q decodes to %s, want %s", tt.in, got, tt.want)
		}
	}
}

func TestFlushWaitsForTheRest(t *testing.T) {
	var d Decoder
	if e := d.Feed([]byte("\x1b")); e != nil || d.Wait() != escapeDelay {
		t.Errorf("got %v", e)
	}
	if e := d.Feed([]byte("[1;")); e != nil || d.Wait() != sequenceDelay {
		t.Errorf("got %v", e)
	}
	if got := names(d.Feed([]byte("5A"))); got != "ctrl+up" || d.Wait() != 0 {
		t.Errorf("got %s", got)
	}
}

// A stream gives the same events however it is split.
func TestSplit(t *testing.T) {
	var streams []string
	for _, tt := range decodeTests {
		streams = append(streams, tt.in)
	}
	rapid.Check(t, func(t *rapid.T) {
		var stream string
		if rapid.Bool().Draw(t, "noise") {
			stream = string(rapid.SliceOfN(rapid.SampledFrom([]byte("\x1b\x1b\x1b[[O]P_~;$?0129AMRuc\x07\\\r\n\x00\x18 a\xc3\xa9\xe6\x97\xa5\xff")), 0, 40).Draw(t, "bytes"))
		} else {
			stream = strings.Join(rapid.SliceOfN(rapid.SampledFrom(streams), 0, 6).Draw(t, "keys"), "")
		}
		var parts []string
		for rest := stream; rest != ""; {
			n := rapid.IntRange(1, min(len(rest), 7)).Draw(t, "n")
			parts, rest = append(parts, rest[:n]), rest[n:]
		}
		whole, split := decodeAll(stream), decodeAll(parts...)
		if !reflect.DeepEqual(whole, split) {
			t.Fatalf("%q decodes to %s, but %q to %s", stream, names(whole), parts, names(split))
		}
	})
}

func FuzzDecoder(f *testing.F) {
	for _, tt := range decodeTests {
		f.Add([]byte(tt.in))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		var d Decoder
		d.Feed(b)
		d.Flush()
		if d.Wait() > 0 {
			t.Errorf("%q stays pending", b)
		}
	})
}

// A reply of the terminal that has begun waits longer for its end than keys do.
func TestWait(t *testing.T) {
	for in, want := range map[string]time.Duration{
		"": 0, "\x1b": escapeDelay, "\x1b]": escapeDelay, "\x1b[1;": sequenceDelay, "\x1b]1": replyDelay, "\x1b]11;rgb:ff\x1b": replyDelay, "\x1bP>": replyDelay, "\xe6\x97": escapeDelay, "\xf0\x9f\x99": sequenceDelay,
	} {
		var d Decoder
		d.Feed([]byte(in))
		if got := d.Wait(); got != want {
			t.Errorf("%q: %s, want %s", in, got, want)
		}
	}
}
