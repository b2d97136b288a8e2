package docgen

import (
	"cmp"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/holdfast-dev/holdfast/internal/lazyregexp"
)

// Message is a text for people in the source code.
type Message struct {
	Package string // its folder, such as "internal/settings"
	Text    string // with "…" for the parts that are not constant; "" for a hint alone
	Hint    string
	Error   bool // else it is printed
}

var (
	failing  = lazyregexp.Must(`^(Errorf|New|Invalid|Refuse|Unsupported|[a-z]*([iI]nvalid|[mM]isuse|[fF]ail(ed|ure)?|[rR]efused?|[pP]roblem|[rR]eject|[eE]rrorf?|[dD]enied))$`)
	failures = lazyregexp.Must(`(Failure|Error|Problem|problem|refusal|Refusal)$`)
	printing = lazyregexp.Must(`^(Line|Notice|Note|Warn|Text|Say|Ask|Confirm|Printf|Fprintf|Fprintln|Println|Progress)$`)
	hinting  = lazyregexp.Must(`([hH]int|[aA]dvice)$`)
	words    = lazyregexp.Must(`\pL{2,}[^\pL]+\pL`)
	verbs    = lazyregexp.Must(`%[-+# 0]*(\*|\d+)?(\.(\*|\d+))?(\[\d+\])?[vTtbcdoqxXUeEfgGsp]|%w`)
	elided   = lazyregexp.Must(`…(…)+`)
)

// Messages reads the messages in the source code of the module, sorted by package and text.
// It finds the arguments of errors.New, fmt.Errorf and functions that make failures, the fields
// of failures and problems, hints, and what the command line prints.
func Messages(t testing.TB) []Message {
	t.Helper()
	root := Path(t, "")
	found := map[Message]bool{}
	err := filepath.WalkDir(root, func(file string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, _ := filepath.Rel(root, file)
		name = filepath.ToSlash(name)
		if d.IsDir() {
			if base := d.Name(); name != "." && (base[0] == '.' || base == "testdata" || base == "node_modules" || slices.Contains([]string{"bench", "examples", "packaging", "scripts", "site"}, name)) {
				return fs.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
			return nil
		}
		f, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		messagesOf(f, path.Dir(name), found)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	var list []Message
	for m := range found {
		if m.Text == "" && m.Hint == "" {
			continue
		}
		list = append(list, m)
	}
	slices.SortFunc(list, func(a, b Message) int {
		return cmp.Or(strings.Compare(a.Package, b.Package), strings.Compare(a.Text, b.Text), strings.Compare(a.Hint, b.Hint))
	})
	return list
}

func messagesOf(f *ast.File, pkg string, found map[Message]bool) {
	add := func(text, hint string, isError bool) {
		if before, after, ok := strings.Cut(text, "; hint: "); ok && hint == "" {
			text, hint = before, after
		}
		found[Message{pkg, text, hint, isError}] = true
	}
	hintFunc := false
	ast.Inspect(f, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncDecl:
			hintFunc = hinting().MatchString(n.Name.Name)
		case *ast.ReturnStmt:
			for _, r := range n.Results {
				if text := constant(r); hintFunc && text != "" {
					add("", text, true)
				}
			}
		case *ast.CallExpr:
			name := calleeName(n)
			texts := sentences(n.Args)
			switch {
			case len(texts) == 0:
			case failing().MatchString(name) && !strings.Contains(texts[0], "SELECT "):
				add(texts[0], strings.Join(texts[1:min(2, len(texts))], ""), true)
			case printing().MatchString(name) && strings.HasPrefix(pkg, "internal/cli"):
				add(texts[0], "", false)
			}
		case *ast.CompositeLit:
			literal(n, add)
		}
		return true
	})
}

// literal reads a composite literal: a failure with its fields, or anything with a hint.
func literal(n *ast.CompositeLit, add func(text, hint string, isError bool)) {
	if len(n.Elts) == 0 {
		return
	}
	if _, keyed := n.Elts[0].(*ast.KeyValueExpr); !keyed {
		if texts := sentences(n.Elts); failures().MatchString(typeName(n.Type)) && len(texts) > 0 {
			add(texts[0], strings.Join(texts[1:min(2, len(texts))], ""), true)
		}
		return
	}
	text, hint := "", ""
	for _, e := range n.Elts {
		kv, ok := e.(*ast.KeyValueExpr)
		if !ok {
			continue
		}
		key, _ := kv.Key.(*ast.Ident)
		switch {
		case key == nil:
		case key.Name == "Hint" || key.Name == "Advice" || key.Name == "hint":
			hint = constant(kv.Value)
		case slices.Contains([]string{"Message", "What", "Reason", "Detail", "what", "reason", "message", "Why", "Msg"}, key.Name):
			text = constant(kv.Value)
		}
	}
	if hint != "" || text != "" && failures().MatchString(typeName(n.Type)) {
		add(text, hint, true)
	}
}

func calleeName(n *ast.CallExpr) string {
	switch f := ast.Unparen(n.Fun).(type) {
	case *ast.SelectorExpr:
		if x, ok := f.X.(*ast.Ident); f.Sel.Name == "New" && (!ok || x.Name != "errors") {
			return ""
		}
		return f.Sel.Name
	case *ast.Ident:
		return f.Name
	}
	return ""
}

func typeName(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.SelectorExpr:
		return e.Sel.Name
	case *ast.Ident:
		return e.Name
	case *ast.ArrayType:
		return typeName(e.Elt)
	}
	return ""
}

// sentences are the texts with at least two words among expressions.
func sentences(list []ast.Expr) (texts []string) {
	for _, e := range list {
		if text := constant(e); words().MatchString(text) {
			texts = append(texts, text)
		}
	}
	return texts
}

// constant is the constant text of an expression, with "…" for its other parts; "" without any text.
func constant(e ast.Expr) string {
	text := flatten(e)
	if strings.Trim(text, "…: \n") == "" {
		return ""
	}
	return elided().ReplaceAllString(oneLine(text), "…")
}

func flatten(e ast.Expr) string {
	switch e := ast.Unparen(e).(type) {
	case *ast.BasicLit:
		if s, err := strconv.Unquote(e.Value); err == nil && e.Kind == token.STRING {
			return s
		}
	case *ast.BinaryExpr:
		if e.Op == token.ADD {
			return flatten(e.X) + flatten(e.Y)
		}
	case *ast.CallExpr:
		if calleeName(e) == "Sprintf" && len(e.Args) > 0 {
			return flatten(e.Args[0])
		}
	}
	return "…"
}

// Plain is a message without the verbs of package fmt.
func Plain(text string) string {
	return elided().ReplaceAllString(strings.ReplaceAll(verbs().ReplaceAllString(text, "…"), "%%", "%"), "…")
}
