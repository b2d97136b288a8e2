package shellparse

import (
	"path"
	"strings"
)

// This file finds the files that programs write in addition to the files that are named: backups,
// parts, and compressed files.

// literalPattern returns a pattern that matches exactly the text.
func literalPattern(text string) string {
	if !strings.ContainsAny(text, `*?[]\`) {
		return text
	}
	var b strings.Builder
	for i := range len(text) {
		if strings.IndexByte(`*?[]\`, text[i]) >= 0 {
			b.WriteByte('\\')
		}
		b.WriteByte(text[i])
	}
	return b.String()
}

// addSuffixed adds the file whose name is w followed by a suffix.
func (c *call) addSuffixed(w word, suffix string) {
	if w.static && w.glob {
		suffix = literalPattern(suffix)
	}
	c.addPath(word{text: w.text + suffix, static: w.static, glob: w.glob}, w.text, Write, FromArgument, false)
}

// addPrefixed adds all files whose names start with the name of w.
func (c *call) addPrefixed(w word) {
	if w.text == "" || w.text == "-" {
		return
	}
	if text := w.text + "*"; w.static && !w.glob {
		w.text = literalPattern(strings.TrimRight(w.text, "/"))
		if strings.HasSuffix(text, "/*") {
			w.text += "/"
		}
		w.text += "*"
	} else {
		w.text = text
	}
	w.glob = w.static
	c.addPath(w, w.text, Write, FromArgument, false)
}

// addBackups adds the names to which cp, mv, ln, install and rsync rename existing files.
func (c *call) addBackups(w word) {
	if c.has("-b") || c.has("--backup") || c.has("-S") || c.has("--suffix") {
		c.addPrefixed(w)
	}
}

// addSedBackup adds the backup that sed -iSUFFIX keeps. A star in the suffix is replaced by the name
// of the file. A suffix with a slash puts the backup into another folder.
func (c *call) addSedBackup(w word) {
	suffix, ok := c.value("-i")
	switch {
	case !ok || suffix.text == "":
	case !suffix.static || w.glob && strings.Contains(suffix.text, "*"):
		c.addPath(word{text: suffix.text}, suffix.text, Write, FromArgument, false)
	case strings.Contains(suffix.text, "*"):
		name := strings.ReplaceAll(suffix.text, "*", path.Base(w.text))
		if !strings.Contains(name, "/") {
			name = path.Dir(w.text) + "/" + name
		}
		c.addPath(word{text: name, static: w.static}, w.text, Write, FromArgument, false)
	default:
		c.addSuffixed(w, suffix.text)
	}
}

// rsync: the last operand is written; the other operands may be removed.
func (c *call) rsync() {
	n := len(c.remaining)
	for i, w := range c.remaining {
		switch {
		case strings.Contains(strings.SplitN(w.text, "/", 2)[0], ":"): // on another machine
		case i == n-1:
			c.addBackups(w)
		case c.has("--remove-source-files"):
			c.addPath(w, w.text, Write, FromArgument, true)
		}
	}
	for _, name := range []string{"--write-batch", "--only-write-batch"} {
		if w, ok := c.value(name); ok {
			c.addSuffixed(w, ".sh")
		}
	}
}

// packedSuffixes are the suffixes that programs add to the name of a file that they compress.
var packedSuffixes = map[string]string{
	"gzip": ".gz", "pigz": ".gz", "bzip2": ".bz2", "pbzip2": ".bz2", "xz": ".xz", "lzma": ".lzma", "zstd": ".zst", "lz4": ".lz4", "compress": ".Z",
	"brotli": ".br", "lzip": ".lz", "lzop": ".lzo",
}

// addPacked adds the files that a compressor creates from its operands.
func (c *call) addPacked() {
	suffix := packedSuffixes[c.prog.name]
	if w, ok := c.value("-S"); ok && w.static {
		suffix = w.text
	}
	unpacks := suffix == "" || c.has("-d")
	for _, w := range c.remaining {
		switch {
		case unpacks && path.Ext(w.text) != "":
			c.addPath(word{text: strings.TrimSuffix(w.text, path.Ext(w.text)), static: w.static, glob: w.glob}, w.text, Write, FromArgument, false)
			if short := path.Ext(w.text); strings.HasPrefix(short, ".t") { // .tgz becomes .tar
				c.addPath(word{text: strings.TrimSuffix(w.text, short) + ".tar", static: w.static, glob: w.glob}, w.text, Write, FromArgument, false)
			}
		case !unpacks:
			c.addSuffixed(w, suffix)
		}
	}
}

// addSplitParts adds the files that split and csplit make.
func (c *call) addSplitParts() {
	prefix, ok := word{text: "xx", static: true}, true
	if c.prog.name == "csplit" {
		if w, has := c.value("-f"); has {
			prefix = w
		}
	} else if ok = len(c.remaining) > 1; ok {
		prefix, c.remaining = c.remaining[1], c.remaining[:1]
	}
	if ok {
		c.addPrefixed(prefix)
	}
}
