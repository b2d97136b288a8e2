package workspace

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
)

func TestParseTrust(t *testing.T) {
	for text, want := range map[string]Trust{
		"direct": Direct, "full": Direct, "vault": Direct, "trusted": Direct, "FULL": Direct, "Vault": Direct,
		"sandboxed": Sandboxed, "untrusted": Sandboxed, "SANDBOXED": Sandboxed, "UnTrusted": Sandboxed,
	} {
		if got, err := parseTrust(text); got != want || err != nil {
			t.Errorf("%q: %q, %v", text, got, err)
		}
	}
	// The Kelvin sign and other look-alike letters are different letters.
	for _, text := range []string{"", "invalid", "none", " direct", "direct ", "direct\n", "full,direct", "ſandboxed", "ﬀull", "trusted\x00"} {
		got, err := parseTrust(text)
		e, ok := errors.AsType[*Error](err)
		if got != Sandboxed || !errors.Is(err, ErrInvalid) || !ok || !strings.Contains(e.Error(), "Unknown trust level") || !strings.Contains(e.Hint(), "Valid values") {
			t.Errorf("%q: %q, %v", text, got, err)
		}
	}
}

func TestTrustJSON(t *testing.T) {
	for _, source := range []string{`null`, `1`, `true`, `{}`, `["direct"]`, `""`} {
		got := Direct
		if err := json.Unmarshal([]byte(`{"t":`+source+`}`), &struct{ T *Trust }{&got}); source != "null" && (err == nil || got != Sandboxed) {
			t.Errorf("%s: %q, %v", source, got, err)
		}
		got = Direct
		if err := got.UnmarshalJSON([]byte(source)); err == nil || got != Sandboxed {
			t.Errorf("%s: %q, %v", source, got, err)
		}
	}
	var got Trust
	if err := json.Unmarshal([]byte(`"Vault"`), &got); err != nil || got != Direct {
		t.Errorf("%q, %v", got, err)
	}
}
