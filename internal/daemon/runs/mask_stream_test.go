package runs

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/holdfast-dev/holdfast/audit/secret"
	"github.com/holdfast-dev/holdfast/event"
)

const (
	madeUpKey  = "ghp_" + "0123456789abcdefghijABCDEFGHIJ012345"
	madeUpLine = "MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7hRk5d2Jm0zPq"
	madeUpPEM  = "-----BEGIN " + "PRIVATE KEY-----\n" + madeUpLine + "\n" + madeUpLine + "\n-----END PRIVATE KEY-----"
)

// However a text is split into pieces, the emitted text is the masked text, and no secret is
// emitted.
func TestStreamMasker(t *testing.T) {
	mask, err := secret.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	words := []string{"the key is", madeUpKey, "\n", " ", "and then", "x=1;", madeUpPEM, "\n\n", "done.", "export TOKEN=" + madeUpKey}
	rapid.Check(t, func(rt *rapid.T) {
		text := strings.Join(rapid.SliceOfN(rapid.SampledFrom(words), 1, 12).Draw(rt, "text"), " ")
		v := &streamMasker{mask: mask}
		var emitted strings.Builder
		emit := func(list []event.Event) {
			for _, e := range list {
				if d, ok := e.(event.TextDelta); ok {
					emitted.WriteString(d.Text)
				}
			}
		}
		for rest := text; rest != ""; {
			n := rapid.IntRange(1, min(len(rest), 30)).Draw(rt, "n")
			emit(v.write(event.TextDelta{Text: rest[:n]}))
			rest = rest[n:]
		}
		emit(v.write(event.ModelFinished{}))
		if got := emitted.String(); strings.Contains(got, madeUpKey) || strings.Contains(got, madeUpLine) {
			rt.Fatalf("emitted %q", got)
		}
		if want, _ := mask.Text(text); emitted.String() != want {
			rt.Fatalf("emitted %q, want %q", emitted.String(), want)
		}
	})
}

// Without a masker, pieces are emitted unchanged, and other events follow them.
func TestStreamMaskerWithoutMasker(t *testing.T) {
	if got := (&streamMasker{}).write(event.TextDelta{Text: madeUpKey}); len(got) != 1 || got[0] != (event.TextDelta{Text: madeUpKey}) {
		t.Errorf("%v", got)
	}
	mask, err := secret.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	v := &streamMasker{mask: mask}
	list := v.write(event.ToolInputDelta{Use: "u", Tool: "Bash", JSON: `{"command":"ls`})
	list = append(list, v.write(event.TextDelta{Text: "next"})...)
	list = append(list, v.write(event.Notice{Text: "key " + madeUpKey})...)
	var got []string
	for _, e := range list {
		switch e := e.(type) {
		case event.ToolInputDelta:
			got = append(got, e.Use+e.Tool+e.JSON)
		case event.TextDelta:
			got = append(got, e.Text)
		case event.Notice:
			got = append(got, e.Text)
		}
	}
	all := strings.Join(got, "|")
	if !strings.HasPrefix(all, `uBash{"command":"ls|next|key `) || strings.Contains(all, madeUpKey) {
		t.Errorf("%q", all)
	}
}

// A secret in the output of a call is masked, also when pieces of two calls alternate.
func TestMaskedToolOutput(t *testing.T) {
	mask, err := secret.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	var o outputMaskers
	got := map[string]string{}
	for i := 0; i < len(madeUpKey); i += 5 {
		for _, use := range []string{"a", "b"} {
			for _, e := range o.write(mask, event.ToolOutputDelta{Use: use, Text: madeUpKey[i:min(i+5, len(madeUpKey))]}) {
				got[use] += e.(event.ToolOutputDelta).Text
			}
		}
	}
	for _, use := range []string{"a", "b"} {
		for _, e := range o.write(mask, event.ToolOutputDelta{Use: use, Text: " is the key\n"}) {
			got[use] += e.(event.ToolOutputDelta).Text
		}
		if text := got[use]; strings.Contains(text, madeUpKey[:8]) || !strings.HasSuffix(text, " is the key\n") {
			t.Errorf("%q", text)
		}
	}
}
