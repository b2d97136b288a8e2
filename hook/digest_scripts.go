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

// Bounds of what is followed from file to file. What lies beyond is not covered.
const (
	maxScript      = 64 << 10 // bytes of a script that are read
	maxDigestBytes = 200      // files of one hook
	maxLoading     = 5        // steps from one file to the next
)

// Where programs and scripts name other files that they run.
var (
	// What stands before a word: "source", "." or the name of an interpreter.
	ranBefore = lazyregexp.Must(`(?m)(?:^|[\s;&|({"'` + "`" + `/])(?:source|\.|bash|sh|zsh|dash|python[0-9.]*|node|ruby|perl|php|bun|tsx|run)[ \t]+(?:-\S+[ \t]+)*`)
	// What stands before a command of a shell.
	shellBefore = lazyregexp.Must(`(?m)(?:^|[;&|({!` + "`" + `]|\b(?:then|do|else|if|while|elif|exec)[ \t])[ \t]*`)
	// What stands for a folder at the head of a word.
	folder = lazyregexp.Must(`^\$(?:[A-Za-z_][A-Za-z0-9_]*|\{[^}\n]*\}|\((?:[^()\n]|\([^()\n]*\))*\))`)
	// A module of JavaScript, Ruby and the like.
	quotedModule = lazyregexp.Must(`\b(?:require|require_relative|load|import|from)\b\s*\(?\s*["']([^"'\n]+)["']`)
	// Modules of Python.
	pythonModule = lazyregexp.Must(`(?m)^[ \t]*(?:from[ \t]+([.\w]+)[ \t]+import[ \t]+\(?([\w, \t]+)|import[ \t]+([\w., \t]+))`)
)

// scriptFiles lists what may be names of files that a script runs, as they stand in it.
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

// maxWord bounds a word of a script, in bytes.
const maxWord = 500

// shellWord is the word at the head of a text, without its quotes, and without what stands
// for a folder before its path: $DIR/lib.sh, $(dirname "$0")/lib.sh.
func shellWord(text string) string {
	text, _, _ = strings.Cut(text[:min(len(text), maxWord)], "\n")
	text = strings.NewReplacer(`"`, "", "'", "").Replace(text)
	for at := folder().FindStringIndex(text); at != nil; at = folder().FindStringIndex(text) {
		text = strings.TrimLeft(text[at[1]:], "/")
	}
	if end := strings.IndexAny(text, " \t;&|()<>`"); end >= 0 {
		text = text[:end]
	}
	return text
}

// pythonFiles are the files of "import a.b, c" and of "from a import b, c".
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

// interpreters are the files that say what a program does.
var interpreters = map[string][]string{
	"make": {"Makefile", "makefile", "GNUmakefile"}, "gmake": {"Makefile", "makefile", "GNUmakefile"},
	"npm": {"package.json"}, "pnpm": {"package.json"}, "yarn": {"package.json"}, "bun": {"package.json"},
	"just": {"justfile", "Justfile", ".justfile"}, "task": {"Taskfile.yml", "Taskfile.yaml"}, "rake": {"Rakefile"},
	"deno": {"deno.json", "deno.jsonc"}, "python": {"__main__.py"}, "python3": {"__main__.py"}, "node": {"index.js", "package.json"},
}

// implied lists files that a command line does not name, and that its programs read:
// of make its Makefile, in the project and in the folders among the words.
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

// found are the files below a project that a script, itself below it, runs: named
// from its own folder or from the project's.
func found(root, name string) []string {
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
