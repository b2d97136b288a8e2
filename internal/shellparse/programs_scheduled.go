package shellparse

import "strings"

// crontab parses a table of commands that run later.
func (c *call) crontab() {
	c.handled = true
	switch {
	case c.unknown != "":
		c.out.unclear = "unknown flag " + c.unknown + " of crontab"
	case c.has("-l"):
		c.out.safe = true
		return
	case c.has("-r"), c.has("-e"):
	case len(c.remaining) > 0 && !namesStdin(c.remaining[0]):
		c.applyRole(c.remaining[0], c.remaining[0].text, roleCode)
	case c.inv.in.kind == stdinKnown:
		for line := range strings.SplitSeq(c.inv.in.text, "\n") {
			c.cronLine(line)
		}
	default:
		c.out.unclear = "cannot determine the commands that crontab reads from standard input"
	}
	c.opaque("runs commands later")
}

// cronLine parses "m h dom mon dow command", "@daily command" or NAME=value.
func (c *call) cronLine(line string) {
	line = strings.TrimSpace(line)
	if line == "" || line[0] == '#' {
		return
	}
	if name, _, ok := strings.Cut(line, "="); ok && isVariableName(strings.TrimSpace(name)) {
		if isDangerous(strings.TrimSpace(name)) {
			c.out.unclear = "cannot determine what crontab runs with " + line
		}
		return
	}
	fields := 5
	if line[0] == '@' {
		fields = 1
	}
	for range fields {
		_, rest, ok := strings.Cut(line, " ")
		if !ok {
			return
		}
		line = strings.TrimSpace(rest)
	}
	line, _, _ = strings.Cut(line, "%")
	c.codeLine(line, "crontab", false)
}

// at parses a line for a shell that runs later.
func (c *call) at() {
	c.handled = true
	switch {
	case c.unknown != "":
		c.out.unclear = "unknown flag " + c.unknown + " of " + c.inv.name
	case c.has("-l"):
		c.out.safe = true
		return
	case c.has("-f"):
		f, _ := c.value("-f")
		c.applyRole(f, f.text, roleCode)
	case c.has("-d"), c.has("-r"), c.has("-c"):
	case c.inv.in.kind == stdinKnown:
		c.runLine(word{text: c.inv.in.text, static: true}, c.inv.name, stdin{})
	default:
		c.out.unclear = "cannot determine the commands that " + c.inv.name + " reads from standard input"
	}
	c.opaque("runs commands later")
}

// opensslFiles contains, for the subcommands of openssl, the options whose value is a file.
var opensslFiles = map[string]Access{
	"-in": Read, "-out": Write, "-key": Read, "-inkey": Read, "-CA": Read, "-CAkey": Read, "-CAfile": Read, "-CApath": Read, "-cert": Read, "-config": Read,
	"-extfile": Read, "-keyout": Write, "-pubin": 0, "-signature": Read, "-sign": Read, "-verify": Read, "-writerand": Write, "-rand": Read, "-outform": 0,
	"-certfile": Read, "-CAserial": Read | Write, "-CRLfile": Read, "-untrusted": Read, "-kfile": Read, "-trusted": Read, "-sess_out": Write, "-sess_in": Read, "-keylogfile": Write,
	"-outdir": Write, "-prverify": Read, "-hmacfile": Read,
}

func (c *call) openssl() {
	c.handled = true
	safe := len(c.args) > 0 && contains("version ciphers list help x509 dgst asn1parse rsa verify crl req pkey ec errstr prime", c.args[0].text)
	for i, w := range c.args {
		access := opensslFiles[w.text]
		switch {
		case access != 0 && i+1 < len(c.args):
			c.addPath(c.args[i+1], c.args[i+1].text, access, FromArgument, false)
		case w.text == "-engine" || w.text == "-provider" || w.text == "-provider-path":
			if i+1 < len(c.args) {
				c.applyRole(c.args[i+1], c.args[i+1].text, roleCode)
				c.out.unclear = "cannot determine what openssl " + w.text + " loads"
			}
		case strings.HasPrefix(w.text, "-pass") && i+1 < len(c.args):
			if _, f, ok := strings.Cut(c.args[i+1].text, "file:"); ok {
				c.addPath(word{text: f, static: c.args[i+1].static}, c.args[i+1].text, Read, FromArgument, false)
			}
		case !strings.HasPrefix(w.text, "-") && looksLikePath(w.text) && (i == 0 || opensslFiles[c.args[i-1].text] == 0):
			c.addPath(w, w.text, Read, FromSyntax, false)
		}
		safe = safe && (w.static || !mayBeOption(w))
	}
	if c.out.safe = safe && !c.out.changesFiles() && c.out.unclear == "" && c.out.opaque == ""; !c.out.safe {
		c.opaque("works with keys")
	}
}
