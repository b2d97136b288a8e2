package shellparse

import "strings"

// sqlCode parses the commands of a database client: the dot commands of sqlite3, the backslash
// commands of psql, and the commands system and source of mysql.
func (c *call) sqlCode(w word) {
	if t := strings.TrimLeft(w.text, `"`); !w.static && c.prog.name != "mysql" && t != "" && t[0]|0x20 >= 'a' && t[0]|0x20 <= 'z' {
		c.opaque("changes a database in a way that the command line does not show") // this is a query: no command of the client starts with these words
		return
	}
	if !w.static {
		c.out.unclear = "cannot determine the commands of " + c.inv.name
		return
	}
	for line := range strings.SplitSeq(w.text, "\n") {
		line = strings.TrimSpace(line)
		switch c.prog.name {
		case "sqlite3", "duckdb":
			if strings.HasPrefix(line, ".") {
				c.sqliteDot(line[1:])
			}
		case "psql":
			for i := strings.IndexByte(line, '\\'); i >= 0 && i+1 < len(line); i = strings.IndexByte(line, '\\') {
				line = line[i+1:]
				c.psqlBackslash(line)
			}
		default:
			c.mysqlCommand(line)
		}
	}
	low := strings.ToLower(w.text)
	ts := (&language{quotes: `'"`, comment: "--"}).tokens(w.text)
	for i := range ts {
		if ts[i].kind != tokenString || i == 0 {
			continue
		}
		before := strings.ToLower(ts[i-1].text)
		if before == "(" && i > 1 {
			before = strings.ToLower(ts[i-2].text)
		}
		switch before {
		case "program":
			c.codeLine(ts[i].text, c.inv.name, false)
		case "infile", "readfile", "load_file", "attach", "database", "pg_read_file", "read_csv", "read_parquet", "read_json", "pg_ls_dir", "from":
			c.addPath(word{text: ts[i].text, static: true}, ts[i].text, Read|Write, FromCode, false)
		case "outfile", "dumpfile", "writefile", "to", "into":
			c.addPath(word{text: ts[i].text, static: true}, ts[i].text, Write, FromCode, false)
		case "load_extension", "load":
			c.out.unclear = c.inv.name + " loads an extension"
		}
	}
	if strings.Contains(low, "xp_cmdshell") || strings.Contains(low, "sys_exec") || c.prog.name == "sqlite3" && strings.Contains(low, "edit(") {
		c.out.unclear = "cannot determine what " + c.inv.name + " starts"
	}
}

func (c *call) sqlFile(arg string, access Access) {
	arg = strings.Trim(strings.TrimSpace(arg), `'";`)
	if line, ok := strings.CutPrefix(arg, "|"); ok {
		c.codeLine(line, c.inv.name+" |", false)
		return
	}
	if arg != "" && arg != "stdout" && arg != "off" && arg != "stdin" {
		if access&Exec != 0 {
			c.checkGeneratedCode(word{text: arg, static: true})
		}
		c.addPath(word{text: arg, static: true}, arg, access, FromArgument, false)
	}
}

func (c *call) sqliteDot(line string) {
	name, arg, _ := strings.Cut(line, " ")
	arg = strings.TrimSpace(arg)
	is := func(full string, least int) bool { return len(name) >= least && strings.HasPrefix(full, name) }
	switch {
	case is("shell", 2), is("system", 2):
		c.codeLine(arg, "sqlite3 .shell", false)
	case is("read", 3):
		c.opaque("runs " + arg)
		c.sqlFile(arg, Read|Exec)
	case is("output", 1), is("once", 2), is("log", 2), is("backup", 1), is("save", 2), is("clone", 2), is("excel", 3), is("trace", 2), is("export", 3):
		for f := range strings.FieldsSeq(strings.TrimPrefix(arg, "main ")) {
			if strings.HasPrefix(f, "|") {
				c.sqlFile(arg[strings.IndexByte(arg, '|'):], Write)
				return
			}
			c.sqlFile(f, Write)
		}
	case is("import", 3), is("open", 2), is("restore", 3), is("archive", 2), is("cd", 2):
		if i := strings.IndexByte(arg, '|'); i >= 0 {
			c.sqlFile(strings.TrimLeft(arg[i:], `"'`), Read)
			return
		}
		for f := range strings.FieldsSeq(arg) {
			if !strings.HasPrefix(f, "-") {
				c.sqlFile(f, Read|Write)
			}
		}
	case is("load", 3):
		c.sqlFile(strings.SplitN(arg+" ", " ", 2)[0], Read|Exec)
		c.out.unclear = "sqlite3 loads an extension"
	}
}

func (c *call) psqlBackslash(line string) {
	name, arg, _ := strings.Cut(line, " ")
	switch {
	case strings.HasPrefix(name, "!"):
		c.codeLine(line[1:], `psql \!`, false)
	case name == "o" || name == "w" || name == "out" || name == "write" || name == "g" || name == "gx" || name == "s":
		c.sqlFile(arg, Write)
	case strings.HasPrefix(name, "o|") || strings.HasPrefix(name, "w|") || strings.HasPrefix(name, "g|"):
		c.codeLine(line[2:], `psql \o |`, false)
	case name == "i" || name == "ir" || name == "include" || name == "include_relative":
		c.opaque("runs " + arg)
		c.sqlFile(arg, Read|Exec)
	case name == "copy":
		low := strings.ToLower(arg)
		for _, dir := range []string{" from ", " to "} {
			if i := strings.LastIndex(low, dir); i >= 0 {
				f := strings.TrimSpace(arg[i+len(dir):])
				if strings.HasPrefix(strings.ToLower(f), "program") {
					c.codeLine(strings.Trim(strings.TrimSpace(f[7:]), "'"), `psql \copy`, false)
				} else if f, _, _ = strings.Cut(f, " "); f != "" {
					c.sqlFile(f, Read|Write)
				}
			}
		}
	case name == "e" || name == "edit" || name == "ef" || name == "ev":
		c.opaque("starts an editor")
	case name == "gexec":
		c.opaque("runs the result of a query")
	case name == "cd":
		c.sqlFile(arg, Read)
	}
	if _, cmd, ok := strings.Cut(line, "`"); ok {
		cmd, _, _ = strings.Cut(cmd, "`")
		c.codeLine(cmd, "psql ``", false)
	}
}

func (c *call) mysqlCommand(line string) {
	name, arg, _ := strings.Cut(line, " ")
	switch strings.ToLower(name) {
	case "system", `\!`:
		c.codeLine(arg, c.inv.name+" system", false)
	case "source", `\.`:
		c.opaque("runs " + arg)
		c.sqlFile(arg, Read|Exec)
	case "tee", `\T`:
		c.sqlFile(arg, Write)
	case "pager", `\P`, `\p`:
		c.codeLine(arg, c.inv.name+" pager", false)
	case "edit", `\e`:
		c.opaque("starts an editor")
	default:
		if _, cmd, ok := strings.Cut(line, `\!`); ok {
			c.codeLine(cmd, c.inv.name+` \!`, false)
		}
	}
}
