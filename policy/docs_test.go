package policy

import (
	"flag"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the generated parts of docs/reference/permissions.md")

const permissionsDoc = "../docs/reference/permissions.md"

var generated = regexp.MustCompile(`(?s)(<!-- generated: (\w+) -->\n).*?(<!-- end -->)`)

// The tables in the document are what the code does. After a change of the code:
//
//	go test ./policy -run TestPermissionsDocument -update
func TestPermissionsDocument(t *testing.T) {
	old, err := os.ReadFile(permissionsDoc)
	if err != nil {
		t.Fatal(err)
	}
	parts := map[string]func() string{
		"modes": modesTable, "kinds": kindsTable, "danger": dangerTable, "protected": protectedList, "secrets": secretsList,
	}
	made := generated.ReplaceAllStringFunc(string(old), func(part string) string {
		m := generated.FindStringSubmatch(part)
		text, ok := parts[m[2]]
		if !ok {
			t.Fatalf("nobody makes the part %q", m[2])
		}
		delete(parts, m[2])
		return m[1] + text() + m[3]
	})
	for name := range parts {
		t.Errorf("the document has no part %q", name)
	}
	if made == string(old) {
		return
	}
	if !*update {
		t.Fatal("docs/reference/permissions.md is not what the code does; hint: go test ./policy -run TestPermissionsDocument -update")
	}
	if err := os.WriteFile(permissionsDoc, []byte(made), 0o644); err != nil {
		t.Fatal(err)
	}
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
	kindRead:        "reading a file inside, or a tool that says it changes nothing",
	kindReadOutside: "reading outside, by a tool or by a safe command",
	kindSecret:      "reading a file of the list below, or a secret by its name",
	kindEdit:        "writing a file inside",
	kindEditOutside: "writing a file outside",
	kindSafe:        "a command that certainly changes nothing and stays inside: `ls`, `git status`, `cat a \\| grep b`",
	kindCommand:     "any other command; also one that only writes files",
	kindUnclear:     "a command line of which it cannot be known what it runs, or what it writes",
	kindDangerous:   "a command line that meets an entry of the list below",
	kindFetch:       "the network, when the tool says that it changes nothing there",
	kindNetwork:     "the network",
	kindReach:       "what the sandbox refuses a command: a host that none of its lists names, a write outside the session's folders",
	kindMCP:         "a tool of an MCP server",
	kindOther:       "everything else: to-do lists, sub-agents, tools that name nothing",
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
			t.Errorf("nobody says what %q is", k)
		}
	}
}
