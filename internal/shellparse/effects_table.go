package shellparse

import (
	"slices"
	"strings"
	"sync"
)

// The tables are text with one row for each program, so that they can be read and checked like
// data:
//
//	names | marks | operands | options
//
// Names are separated by commas; "git log" is a row for a subcommand. A line that
// starts with a space continues the row above.
//
// Operands are listed as roles in their order: "- r*" is one plain word, then files that are read;
// "r* w" is files that are read, then one file that is written. See [role].
//
// An option consists of its spellings, separated by slashes, the role of its value, and then what
// it changes: "-o/--output:w", "-I?" (a value only when attached), "-abc" (three options without
// value), "-#" (a number with a dash). What follows:
//
//	!  not safe            +  with everything below the operands
//	^  takes the place of the operand that stands alone (grep -e, cp -t)
//	>  the operands are written, too (sed -i)
//	~  then it runs nothing and changes nothing (command -v)
//	$  options end with it (python -c)
//	#  its attached value is a number (perl -l0)
//	2  it takes two words, and the second is the one (jq --slurpfile NAME FILE)
//
// Marks: safe (changes nothing, with these options), wrapper (does nothing but run
// its operands), once (one dash in front of long options), late (options may stand
// between the operands before the command), early (options end at the first
// operand, even if it is not a command), any (options that are not listed do no harm when they are attached), runs
// (runs code that is not in the line), alters (changes things that are not in the line), and "=name" for the
// function that parses what this notation cannot describe, see [call.special].

// role is what a word means to a program.
type role byte

const (
	roleData    role = '-'
	roleRead    role = 'r'
	roleReadAll role = 'R' // with everything below
	roleWrite   role = 'w'
	roleWipe    role = 'W' // the path is written, with everything below it
	roleEdit    role = 'm' // read and written
	roleEditAll role = 'M'
	roleCode    role = 'x' // a file that is run or loaded as code
	roleDir     role = 'd' // its working folder
	roleLine    role = 'l' // a line for a shell
	roleCommand role = 'c' // this word and all that follow are a command
	roleSub     role = '@' // a subcommand with its own row
	roleUnclear role = 'u' // makes the program run a command that cannot be determined
	roleOpaque  role = 'o' // has effects that the line does not show
	roleRemote  role = 'h' // a local file, or host:file
	roleRemoteW role = 'H'
	roleMount   role = 'v' // host:container[:ro]
	roleUpload  role = 'a' // text, or @file
	roleShape   role = 's' // a file, if the word looks like a file name
	roleSelf    role = 'i' // text in the program's own language, which the program's special function parses
)

const roles = "-rRwWmMxdlc@uohHvasi"

type program struct {
	name    string
	row     string
	once    sync.Once
	marks   programFlags
	before  []role // roles of the operands before the repeated one
	repeat  role   // 0: none
	after   []role
	options map[string]*option
	harms   bool   // an option of the program writes or runs something
	special string // parses its arguments, see [call.special]
}

type programFlags struct{ safe, wrapper, once, late, early, any, runs, alters bool }

type option struct {
	name                                                   string // the first spelling
	value                                                  bool   // required
	attached                                               bool   // optional, attached
	role                                                   role
	unsafe, tree, instead, writes, only, two, last, number bool
}

// tables contains all rows by name, not yet compiled.
var tables = sync.OnceValue(func() map[string]*program {
	out := make(map[string]*program, 1024)
	for _, t := range [...]string{
		wrapperRows, toolRows, shellRows, builtinRows, fileRows, textRows, archiveRows, netRows,
		gitRows, buildRows, systemRows, containerRows, codeRows, machineRows, starterRows,
	} {
		for row := range strings.SplitSeq(strings.ReplaceAll(t, "\n ", " "), "\n") {
			names, rest, ok := strings.Cut(row, "|")
			if !ok {
				continue
			}
			for name := range strings.SplitSeq(names, ",") {
				name = strings.TrimSpace(name)
				out[name] = &program{name: name, row: rest}
			}
		}
	}
	return out
})

// lookup finds a program's row: by its name, without its version ("python3.12"), or without the g that GNU
// tools have on other systems ("gtimeout").
func lookup(name string) *program {
	t := tables()
	p := t[name]
	if p == nil {
		if bare := strings.TrimSuffix(strings.ToLower(name), ".exe"); len(bare) != len(name) {
			return lookup(bare) // in WSL
		}
		if base := strings.TrimRight(name, "0123456789.-"); base != name && base != "" {
			if p = t[base]; p != nil && strings.Contains(strings.SplitN(p.row, "|", 2)[0], "safe") {
				p = nil // such names have no version: there is no program ls2
			}
		}
	}
	if p == nil && len(name) > 2 && name[0] == 'g' && contains(gnuTools, name[1:]) {
		p = t[name[1:]]
	}
	if p != nil {
		p.once.Do(p.compile)
	}
	return p
}

// gnuTools are the GNU tools whose names start with g on systems that have their own tools.
const gnuTools = `awk base64 basename cat chgrp chmod chown chroot cksum comm cp csplit cut date dd df diff dirname du echo egrep env expand expr
	factor false fgrep find fmt fold grep groups head hostid id install join kill link ln locate logname ls make md5sum mkdir mkfifo mknod mktemp mv nice nl
	nohup nproc numfmt od paste patch pathchk pinky pr printenv printf ptx pwd readlink realpath rm rmdir sed seq sha1sum sha256sum sha512sum shred shuf
	sleep sort split stat stdbuf stty sum sync tac tail tar tee test time timeout touch tr true truncate tsort tty uname unexpand uniq unlink uptime users
	wc which who whoami xargs yes`

func (p *program) compile() {
	f := strings.SplitN(p.row, "|", 3)
	for m := range strings.FieldsSeq(f[0]) {
		if m[0] == '=' {
			p.special = m[1:]
			continue
		}
		switch m {
		case "safe":
			p.marks.safe = true
		case "wrapper":
			p.marks.wrapper = true
		case "once":
			p.marks.once = true
		case "late":
			p.marks.late = true
		case "early":
			p.marks.early = true
		case "any":
			p.marks.any = true
		case "runs":
			p.marks.runs = true
		case "alters":
			p.marks.alters = true
		default:
			panic("shellparse: the row of " + p.name + " has the unknown mark " + m)
		}
	}
	for r := range strings.FieldsSeq(f[1]) {
		switch {
		case strings.IndexByte(roles, r[0]) < 0 || len(r) > 2 || len(r) == 2 && r[1] != '*':
			panic("shellparse: the row of " + p.name + " has the unknown operand " + r)
		case len(r) == 2:
			p.repeat = role(r[0])
		case p.repeat != 0:
			p.after = append(p.after, role(r[0]))
		default:
			p.before = append(p.before, role(r[0]))
		}
	}
	p.options = map[string]*option{}
	for o := range strings.FieldsSeq(f[2]) {
		p.addOption(o)
	}
}

func (p *program) addOption(token string) {
	end := strings.IndexAny(token[1:], ":?!+^>~$")
	if end++; end == 0 {
		end = len(token)
	}
	names, kind := token[:end], token[end:]
	o := &option{role: roleData}
	if kind != "" && (kind[0] == ':' || kind[0] == '?') {
		o.value, o.attached = kind[0] == ':', kind[0] == '?'
		kind = kind[1:]
		if kind != "" && strings.IndexByte(roles, kind[0]) >= 0 {
			o.role, kind = role(kind[0]), kind[1:]
		}
	}
	for _, c := range kind {
		switch c {
		case '!':
			o.unsafe = true
		case '+':
			o.tree = true
		case '^':
			o.instead = true
		case '>':
			o.writes = true
		case '~':
			o.only = true
		case '2':
			o.two = true
		case '#':
			o.number = true
		case '$':
			o.last = true
		default:
			panic("shellparse: the row of " + p.name + " has the unknown option " + token)
		}
	}
	o.unsafe = o.unsafe || o.writes || strings.IndexByte("wWmMxlcuoH", byte(o.role)) >= 0
	p.harms = p.harms || o.unsafe
	spellings := strings.Split(names, "/")
	if names == "-/" { // chpst has this option
		spellings = []string{names}
	}
	if !p.marks.once && len(spellings) == 1 && len(names) > 2 && names[1] != '-' {
		if o.value || o.attached {
			panic("shellparse: the row of " + p.name + " gives a value to several options: " + token)
		}
		spellings = nil
		for _, c := range names[1:] {
			spellings = append(spellings, "-"+string(c))
		}
		for _, s := range spellings {
			own := *o
			own.name = s
			p.options[s] = &own
		}
		return
	}
	o.name = spellings[0]
	for _, s := range spellings {
		p.options[s] = o
	}
}

// long finds a long option by its name, or by a unique prefix.
func (p *program) long(name string) *option {
	if o := p.options[name]; o != nil || len(name) < 3 {
		return o
	}
	var found *option
	for n, o := range p.options {
		if strings.HasPrefix(n, name) {
			if found != nil && found != o {
				return nil
			}
			found = o
		}
	}
	return found
}

// lookupSub finds the row of a subcommand.
func lookupSub(name, sub string) *program { return lookupExact(name + " " + sub) }

func lookupExact(name string) *program {
	p := tables()[name]
	if p != nil {
		p.once.Do(p.compile)
	}
	return p
}

// command is the index of the command among the operands, or -1.
func (p *program) command() int {
	return slices.IndexFunc(p.before, func(r role) bool { return r == roleCommand || r == roleSub })
}
