package egress

import (
	"os"
	"strings"
	"testing"

	"github.com/holdfast-dev/holdfast/internal/registries"
)

// The reference page of the sandbox lists every registry with its hosts.
func TestRegistriesDocumented(t *testing.T) {
	page, err := os.ReadFile("../../../docs/reference/sandbox.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range registries.Names() {
		hosts := registries.Hosts(name)
		if row := "| `" + name + "` | " + strings.Join(hosts, ", ") + " |"; !strings.Contains(string(page), row) {
			t.Errorf("docs/reference/sandbox.md lacks %s", row)
		}
		for _, host := range hosts {
			if what, _ := CheckEntry(host); what != "" || !Match(name, host, 443) || Match(name, host, 22) || Match(name, "x."+host, 443) {
				t.Errorf("%s: %s %s", name, host, what)
			}
		}
	}
	if what, hint := CheckEntry("@nmp"); !strings.Contains(what, "unknown package registry") || !strings.Contains(hint, "@npm") {
		t.Error(what, hint)
	}
}

func TestRegistryInALayer(t *testing.T) {
	rules, err := Compile(Layer{Allow: []string{"@npm", "api.example.com"}}, Layer{Allow: []string{"*"}, Deny: []string{"@pypi"}})
	if err != nil {
		t.Fatal(err)
	}
	for host, want := range map[string]effect{"registry.npmjs.org": allowed, "api.example.com": allowed, "pypi.org": refused, "example.com": refused} {
		h, err := ParseHost(host)
		if err != nil {
			t.Fatal(err)
		}
		if got := rules.decide(h, 443); got.effect != want {
			t.Errorf("%s: %+v", host, got)
		}
	}
}
