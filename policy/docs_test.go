package policy

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/holdfast-dev/holdfast/internal/docgen"
)

// The tables in docs/reference/permissions.md match the code; make docs writes them.
func TestPermissionsDocument(t *testing.T) {
	docgen.Parts(t, "reference/permissions.md", map[string]string{
		"modes": modesTable(), "kinds": kindsTable(), "danger": dangerTable(), "protected": protectedList(), "secrets": secretsList(),
	})
}

func modesTable() string {
	var b strings.Builder
	b.WriteString("\n| kind |")
	for _, m := range modeOrder {
		b.WriteString(" " + string(m) + " |")
	}
	b.WriteString("\n|---|" + strings.Repeat("---|", len(modeOrder)) + "\n")
	for _, k := range allKinds() {
		fmt.Fprintf(&b, "| %s |", k)
		for _, m := range modeOrder {
			fmt.Fprintf(&b, " %s |", m.decide(k))
		}
		b.WriteString("\n")
	}
	return b.String() + "\n"
}

// kindWords say in words what a kind is.
var kindWords = map[actionKind]string{
	kindRead:        "reads a file in the session's folders, or a tool that declares itself read-only",
	kindReadOutside: "reads a file outside, by a tool or a safe command",
	kindSecret:      "reads a file of the list of secrets below, or a secret by its name",
	kindEdit:        "writes a file in the session's folders",
	kindEditOutside: "writes a file outside",
	kindSafe:        "a command that changes nothing and stays inside: `ls`, `git status`, `cat a \\| grep b`",
	kindCommand:     "any other command",
	kindUnclear:     "a command line whose programs or written files cannot be determined",
	kindDangerous:   "a command line of the list of dangerous commands below",
	kindFetch:       "network access of a tool that declares itself read-only",
	kindNetwork:     "other network access",
	kindReach:       "something that the sandbox refuses: a host that no list names, a write outside the session's folders",
	kindMCP:         "a tool of an MCP server",
	kindOther:       "everything else: task lists, sub-agents, tools without a resource",
}

func kindsTable() string {
	var b strings.Builder
	b.WriteString("\n| kind | what it is |\n|---|---|\n")
	for _, k := range allKinds() {
		fmt.Fprintf(&b, "| %s | %s |\n", k, kindWords[k])
	}
	return b.String() + "\n"
}

func dangerTable() string {
	var b strings.Builder
	b.WriteString("\n| id | because | such as | but not |\n|---|---|---|---|\n")
	code := func(lines []string) string {
		var out []string
		for _, l := range lines {
			out = append(out, "`"+strings.ReplaceAll(l, "|", `\|`)+"`")
		}
		return strings.Join(out, ", ")
	}
	for _, d := range allDangers() {
		fmt.Fprintf(&b, "| %s | %s | %s | %s |\n", d.ID, d.Why, code(d.Match), code(d.Near))
	}
	return b.String() + "\n"
}

func protectedList() string { return listed(&loadProtected().writes) }
func secretsList() string   { return listed(&loadProtected().secrets) }

func listed(n *namedPaths) string {
	names := func(sets ...map[string]bool) string {
		var out []string
		for _, set := range sets {
			for name := range set {
				out = append(out, "`"+name+"`")
			}
		}
		slices.Sort(out)
		return strings.Join(out, " ")
	}
	patterns := func(list []string) map[string]bool {
		set := map[string]bool{}
		for _, p := range list {
			set[p] = true
		}
		return set
	}
	s := "\n- folders: " + names(n.folders, n.pairs) + "\n- files: " + names(n.exact, patterns(n.pattern)) + "\n"
	if except := names(n.except, patterns(n.not)); except != "" {
		s += "- not: " + except + "\n"
	}
	return s + "\n"
}

func TestKindsAreDescribed(t *testing.T) {
	for _, k := range allKinds() {
		if kindWords[k] == "" {
			t.Errorf("%q has no description", k)
		}
	}
}
