package hook

import (
	"io"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/holdfast-dev/holdfast/internal/lazyregexp"
)

// Limits for following references from file to file. Files beyond these limits are not covered by
// the digest.
const (
	maxScript         = 64 << 10 // bytes of a script that are read
	maxDigestFiles    = 200      // files per hook
	maxReferenceDepth = 5        // depth of references
)

// Patterns for places where programs and scripts name other files that they run.
var (
	// ranBefore matches what precedes a file name: "source", "." or the name of an interpreter.
	ranBefore = lazyregexp.Must(`(?m)(?:^|[\s;&|({"'` + "`" + `/])(?:source|\.|bash|sh|zsh|dash|python[0-9.]*|node|ruby|perl|php|bun|tsx|run)[ \t]+(?:-\S+[ \t]+)*`)
	// shellBefore matches what precedes a shell command.
	shellBefore = lazyregexp.Must(`(?m)(?:^|[;&|({!` + "`" + `]|\b(?:then|do|else|if|while|elif|exec)[ \t])[ \t]*`)
	// folderExpr is the pattern for a folder expression at the start of a word.
	folderExpr = lazyregexp.Must(`^\$(?:[A-Za-z_][A-Za-z0-9_]*|\{[^}\n]*\}|\((?:[^()\n]|\([^()\n]*\))*\))`)
	// quotedModule matches an import of a module in JavaScript, Ruby and similar languages.
	quotedModule = lazyregexp.Must(`\b(?:require|require_relative|load|import|from)\b\s*\(?\s*["']([^"'\n]+)["']`)
	// pythonModule matches Python imports.
	pythonModule = lazyregexp.Must(`(?m)^[ \t]*(?:from[ \t]+([.\w]+)[ \t]+import[ \t]+\(?([\w, \t]+)|import[ \t]+([\w., \t]+))`)
)

// scriptFiles lists possible names of files that a script runs, as they are written in the script.
func scriptFiles(text string) []string {
	var names []string
	for _, at := range ranBefore().FindAllStringIndex(text, -1) {
		names = append(names, shellWord(text[at[1]:]))
	}
	for _, at := range shellBefore().FindAllStringIndex(text, -1) {
		if w := shellWord(text[at[1]:]); strings.ContainsRune(w, '/') {
			names = append(names, w)
		}
	}
	for _, m := range quotedModule().FindAllStringSubmatch(text, -1) {
		for _, end := range [...]string{"", ".js", ".mjs", ".cjs", ".ts", ".json", ".rb", "/index.js", "/index.ts"} {
			names = append(names, m[1]+end)
		}
	}
	for _, m := range pythonModule().FindAllStringSubmatch(text, -1) {
		names = append(names, pythonFiles(m[1], m[2])...)
		names = append(names, pythonFiles("", m[3])...)
	}
	return names
}

// maxWord is the maximum length of a word of a script, in bytes.
const maxWord = 500

// shellWord returns the first word of a text, without quotes and without a folder expression before
// its path, as in $DIR/lib.sh and $(dirname "$0")/lib.sh.
func shellWord(text string) string {
	text, _, _ = strings.Cut(text[:min(len(text), maxWord)], "\n")
	text = strings.NewReplacer(`"`, "", "'", "").Replace(text)
	for at := folderExpr().FindStringIndex(text); at != nil; at = folderExpr().FindStringIndex(text) {
		text = strings.TrimLeft(text[at[1]:], "/")
	}
	if end := strings.IndexAny(text, " \t;&|()<>`"); end >= 0 {
		text = text[:end]
	}
	return text
}

// pythonFiles lists the files of "import a.b, c" and "from a import b, c".
func pythonFiles(from, list string) []string {
	var names []string
	add := func(module string) {
		if module = strings.ReplaceAll(strings.TrimLeft(module, "."), ".", "/"); module != "" {
			names = append(names, module+".py", module+"/__init__.py", module+"/__main__.py")
		}
	}
	add(from)
	for item := range strings.SplitSeq(list, ",") {
		if words := strings.Fields(item); len(words) > 0 {
			if from != "" {
				words[0] = from + "." + words[0]
			}
			add(words[0])
		}
	}
	return names
}

// interpreters lists the files that determine what a program does.
var interpreters = map[string][]string{
	"make": {"Makefile", "makefile", "GNUmakefile"}, "gmake": {"Makefile", "makefile", "GNUmakefile"},
	"npm": {"package.json"}, "pnpm": {"package.json"}, "yarn": {"package.json"}, "bun": {"package.json"},
	"just": {"justfile", "Justfile", ".justfile"}, "task": {"Taskfile.yml", "Taskfile.yaml"}, "rake": {"Rakefile"},
	"deno": {"deno.json", "deno.jsonc"}, "python": {"__main__.py"}, "python3": {"__main__.py"}, "node": {"index.js", "package.json"},
}

// implied lists files that a command line does not name but its programs read, such as make's
// Makefile. It looks in the project and in the folders among the words.
func implied(words []string, project string) []string {
	var files, names []string
	module := false
	for _, w := range words {
		w = path.Base(w)
		names = append(names, interpreters[w]...)
		module = module || w == "-m"
	}
	if module {
		for _, w := range words {
			files = append(files, pythonFiles("", w)...)
		}
	}
	if len(names) == 0 {
		return files
	}
	for _, dir := range append([]string{"."}, words...) {
		if !filepath.IsAbs(dir) {
			dir = filepath.Join(project, dir)
		}
		if info, err := os.Stat(dir); err != nil || !info.IsDir() {
			continue
		}
		for _, n := range names {
			files = append(files, filepath.Join(dir, n))
		}
	}
	return files
}

// candidateFiles lists possible names, relative to the project, of the files that a script in the
// project runs. A name in the script may be relative to the script's folder or to the project, so
// candidateFiles returns both.
func candidateFiles(root, name string) []string {
	f, err := os.Open(filepath.Join(root, filepath.FromSlash(name)))
	if err != nil {
		return nil
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxScript))
	if err != nil {
		return nil
	}
	var words []string
	for _, w := range scriptFiles(string(text)) {
		if w == "" || filepath.IsAbs(w) {
			continue
		}
		words = append(words, path.Join(path.Dir(name), w), path.Clean(w))
	}
	slices.Sort(words)
	return slices.Compact(words)
}
