package shellparse

import "strings"

// netRows are programs that connect to other machines.
const netRows = `
curl | =curl | -* | -#0123456789aBfgGiIjJklLnNOqRsSvVZ -A/--user-agent: -b/--cookie:s -c/--cookie-jar:w -C/--continue-at: -d/--data/--data-ascii/--data-binary/--data-urlencode:a --data-raw: -D/--dump-header:w -e/--referer: -E/--cert:r -F/--form:a --form-string: -H/--header:a -K/--config:r
 -m/--max-time: -o/--output:w -P/--ftp-port: -Q/--quote: -r/--range: -t/--telnet-option: -T/--upload-file:r -u/--user: -U/--proxy-user: -w/--write-out:a -x/--proxy: -X/--request: -y/--speed-time: -Y/--speed-limit: -z/--time-cond:s -h? -M
 --json:a --url:i --url-query:a --output-dir:d --create-dirs --connect-timeout: --retry: --retry-delay: --retry-max-time: --retry-connrefused --retry-all-errors --cacert:r --capath:R --key:r --cert-type: --key-type: --pass: --ciphers: --resolve: --connect-to: --interface: --limit-rate: --max-filesize: --max-redirs: --netrc --netrc-file:r --netrc-optional
 --noproxy: --oauth2-bearer: --proto: --proto-redir: --proto-default: --proxy-header: --pubkey:r --unix-socket:r --abstract-unix-socket: --stderr:w --trace:w --trace-ascii:w --trace-time --etag-save:w --etag-compare:r --hsts:m --alt-svc:m --libcurl:w --dns-servers: --doh-url: --engine:u --crlfile:r --egd-file:r --random-file:r --login-options: --local-port: --keepalive-time: --expect100-timeout: --happy-eyeballs-timeout-ms: --aws-sigv4: --remote-name --remote-name-all --remote-header-name
 --fail --fail-with-body --fail-early --silent --show-error --location --location-trusted --head --include --insecure --verbose --compressed --get --globoff --http1.0 --http1.1 --http2 --http2-prior-knowledge --http3 --ipv4 --ipv6 --no-progress-meter --progress-bar --raw --tlsv1 --tlsv1.0 --tlsv1.1 --tlsv1.2 --tlsv1.3 --ssl --ssl-reqd --no-keepalive --no-buffer --path-as-is --parallel --parallel-max: --next --anyauth --basic --digest --negotiate --ntlm --post301 --post302 --post303 --append --list-only --use-ascii --tcp-nodelay --tcp-fastopen --disable --remote-time --styled-output --no-styled-output --no-sessionid --socks5: --socks5-hostname: --socks4: --socks4a: --preproxy: --mail-from: --mail-rcpt: --create-file-mode: --variable:a --skip-existing --no-clobber --rate: --manual~
wget,wget2 | =wget | -* | -bcdEFghHkKLmNpqrSvVx46 -a/--append-output:w -A/--accept: -B/--base: -D/--domains: -e/--execute:i -G: -i/--input-file:r -I/--include-directories: -l/--level: -n: -o/--output-file:w -O/--output-document:w -P/--directory-prefix:W -Q/--quota: -R/--reject: -t/--tries: -T/--timeout: -U/--user-agent: -w/--wait: -X/--exclude-directories:
 --use-askpass:l --post-file:r --body-file:r --post-data: --body-data: --method: --header: --load-cookies:r --save-cookies:w --ca-certificate:r --ca-directory:R --certificate:r --private-key:r --config:r --warc-file:w --rejected-log:w --hsts-file:m --user: --password: --http-user: --http-password: --progress: --show-progress --no-check-certificate --no-clobber --continue --quiet --no-verbose --verbose --spider --server-response --recursive --mirror --no-parent --page-requisites --convert-links --adjust-extension --no-directories --no-host-directories --cut-dirs: --timestamping --content-disposition --trust-server-names --https-only --max-redirect: --limit-rate: --random-wait --retry-connrefused --waitretry: --no-proxy --no-cache --no-cookies --secure-protocol: --inet4-only --inet6-only --background --restrict-file-names: --compression: --referer: --domains: --span-hosts --no-hsts --delete-after --dns-timeout: --connect-timeout: --read-timeout: --unlink
aria2c,axel,lftp,ftp,tftp,http,https,xh,httpie,youtube-dl,yt-dlp,rclone,s3cmd,croc | =download | -* | --
ssh,mosh,dbclient,slogin,rsh | late wrapper =ssh | - c | -46AaCfGgKkMNnqsTtVvXxYy -B: -b: -c: -D: -E:w -e: -F:x -I:x -i:r -J: -L: -l: -m: -O: -o:i -P: -p: -Q:~ -R: -S:r -W: -w: --ssh:l --client:x --server: --predict:
autossh | late wrapper =ssh | - c | -46AaCfGgKkNnqsTtVvXxYy -M: -B: -b: -c: -D: -E:w -e: -F:x -I:x -i:r -J: -L: -l: -m: -O: -o:i -P: -p: -R: -S:r -W: -w:
sshpass | wrapper | c | -p: -f:r -d: -e? -P: -v
ssh-keygen | =keygen | -* | -qlBEHiLcpPQyAehvUkMg -f:m -F: -R: -t: -b: -C: -N: -P: -m: -O: -s:r -I: -n: -z: -V: -D:x -r: -a: -Y: -w:x -Z: -K
ssh-add,ssh-agent | =sshagent | -* | -AacDdEeKkLlMqSsTtvXx
nc,ncat,netcat,nc.openbsd,nc.traditional,pnc | =nc | -* | -46bCDdhklNnrStUuvzZF -c/--sh-exec:i -e/--exec:i --lua-exec:x -g: -G: -I: -i: -m: -M: -O: -o:w -P: -p: -q: -s: -T: -V: -w: -W: -X: -x: --ssl --ssl-cert:r --ssl-key:r --listen --source: --output:w --hex-dump:w --keep-open --proxy: --proxy-type: --proxy-auth: --recv-only --send-only --udp --sctp --wait: --broker --chat --allow: --allowfile:r --deny: --denyfile:r --crlf --no-shutdown --ssl-verify --ssl-trustfile:r --max-conns: --idle-timeout: --delay: --verbose
socat | =socat | -* | -dDhvVxuUsglW46 -t: -T: -b: -L:w -r:w -R:w
telnet,whois,dig,nslookup,host,ping,ping6,traceroute,tracepath,mtr,arp,nmap,masscan,tcpdump,tshark,iperf,iperf3,speedtest,ab,wrk,hey,vegeta,k6,siege,websocat,grpcurl,openfortivpn,openvpn,wg,tailscale,cloudflared,ngrok,caddy,nginx,httpd,apachectl,iptables,nft,ufw,firewall-cmd,ip,ifconfig,route,iw,nmcli,networksetup | alters any | s* | -w:w -z:l -r:r -f:r --script:x
`

// nets handles the arguments of programs that connect to other machines.
func (c *call) nets() {
	switch c.prog.special {
	case "curl":
		c.curl()
	case "wget":
		if w, ok := c.value("-e"); ok {
			if k, v, _ := strings.Cut(w.text, "="); strings.Contains(k, "askpass") {
				c.codeLine(strings.TrimSpace(v), "wget use_askpass", !w.static)
			} else {
				c.unsafe = true
				c.opaque("sets " + k)
			}
		}
		if !c.has("-O") && !c.has("--spider") && !c.has("-P") {
			c.addPath(workingDir, "wget", Write, FromArgument, true)
		}
		for _, w := range c.remaining {
			c.localURL(w)
		}
		c.remaining = nil
	case "download":
		c.handled = true
		c.guess()
		for i, w := range c.args {
			switch w.text {
			case "-d", "-o", "-O", "-P", "--dir", "--out", "--output":
				if i+1 < len(c.args) {
					c.addPath(c.args[i+1], c.args[i+1].text, Write, FromArgument, true)
				}
			case "-e", "-c", "--exec", "-x", "--downloader", "--on-download-complete":
				if i+1 < len(c.args) && c.prog.name != "aria2c" || w.text == "--on-download-complete" && i+1 < len(c.args) {
					c.codeLine(strings.TrimLeft(c.args[i+1].text, "!"), c.prog.name+" "+w.text, !c.args[i+1].static)
				}
			}
			for _, name := range []string{"--exec=", "--downloader=", "--on-download-"} {
				if strings.HasPrefix(w.text, name) {
					_, v, _ := strings.Cut(w.text, "=")
					c.codeLine(v, c.prog.name, !w.static)
				}
			}
		}
		c.shellEscapes()
		c.lastWritten("copy copyto sync move moveto get bisync clone")
		c.opaque("downloads files")
	case "ssh", "scp":
		c.ssh()
	case "keygen":
		lists := c.has("-l") || c.has("-B") || c.has("-F") || c.has("-L")
		if f, ok := c.value("-f"); lists && ok {
			c.addPath(f, f.text, Read, FromArgument, false)
			c.given = nil
		} else if ok {
			c.addSuffixed(f, ".pub")
			c.addSuffixed(f, "-cert.pub")
		}
		c.out.safe = lists && c.unknown == "" && !c.unclear
		if lists && !c.has("-H") && !c.has("-R") {
			c.handled = true
			return
		}
		c.opaque("changes keys")
	case "sshagent":
		c.handled = true
		if c.prog.name == "ssh-agent" && len(c.remaining) > 0 {
			c.runCommand(c.remaining)
			return
		}
		for _, w := range c.remaining {
			c.addPath(w, w.text, Read, FromArgument, false)
		}
		if c.out.safe = c.has("-l") || c.has("-L"); !c.out.safe {
			c.opaque("changes the agent's keys")
		}
	case "nc":
		for _, name := range []string{"-e", "-c"} {
			if w, ok := c.value(name); ok && w.text != "" {
				c.runLine(w, c.inv.name+" "+name, stdin{kind: stdinUnknown})
			}
		}
		c.opaque("connects to another machine")
	case "socat":
		c.handled = true
		for _, w := range c.args {
			c.socat(w)
		}
		c.opaque("connects to another machine")
	default:
		c.interpreters()
	}
}

// shellEscapes parses the commands on standard input of a client in which "!" starts a shell.
func (c *call) shellEscapes() {
	if !contains("ftp tftp lftp sftp", c.prog.name) {
		return
	}
	switch c.inv.in.kind {
	case stdinKnown:
		for line := range strings.SplitSeq(c.inv.in.text, "\n") {
			if line, ok := strings.CutPrefix(strings.TrimSpace(line), "!"); ok {
				c.codeLine(line, c.inv.name+" !", false)
			}
		}
	case stdinUnknown:
		c.out.unclear = "cannot determine the commands that " + c.inv.name + " reads from standard input"
	}
}

func (c *call) localURL(w word) {
	if strings.HasPrefix(strings.ToLower(w.text), "file:") {
		p := w.text[len("file:"):]
		if strings.HasPrefix(p, "//") {
			p = fileURL("file:" + p)
		}
		access := Read
		if c.has("-T") { // curl writes the upload to this file
			access |= Write
		}
		c.addPath(word{text: p, static: w.static}, w.text, access, FromArgument, false)
	}
}

func (c *call) curl() {
	for _, w := range c.remaining {
		c.localURL(w)
	}
	for i := range c.given {
		switch g := &c.given[i]; g.name {
		case "--url":
			c.localURL(g.value)
		case "-K":
			c.opaque("reads its options from " + g.value.text)
		}
	}
	if c.has("-O") || c.has("-J") || c.has("--remote-name") || c.has("--remote-name-all") || c.has("--remote-header-name") {
		c.addPath(workingDir, "-O", Write, FromArgument, true)
	}
	if c.unclear {
		c.opaque("an unknown argument of curl may be an option")
	}
	c.remaining = nil
	c.opaque("connects to another machine")
}

// ssh: the words after the host run in a shell on that host; some settings run commands on this
// machine.
func (c *call) ssh() {
	for i := range c.given {
		g := &c.given[i]
		if g.name != "-o" {
			continue
		}
		key, value, ok := strings.Cut(g.value.text, "=")
		if !ok {
			key, value, _ = strings.Cut(g.value.text, " ")
		}
		switch strings.ToLower(strings.TrimSpace(key)) {
		case "proxycommand", "localcommand", "knownhostscommand", "remotecommand":
			c.runLine(word{text: value, static: g.value.static}, c.inv.name+" -o "+key, stdin{kind: stdinUnknown})
		case "match":
			c.out.unclear = "cannot determine what " + c.inv.name + " -o Match runs"
		case "identityfile", "userknownhostsfile", "certificatefile", "globalknownhostsfile", "include", "identityagent":
			c.addPath(word{text: value, static: g.value.static}, g.arg, Read, FromArgument, false)
		case "controlpath":
			c.addPath(word{text: value, static: g.value.static}, g.arg, Write, FromArgument, false)
		case "pkcs11provider", "securitykeyprovider", "xauthlocation":
			c.applyRole(word{text: value, static: g.value.static}, g.arg, roleCode)
		}
	}
	c.shellEscapes()
	c.opaque("connects to another machine")
	if len(c.prog.before) == 2 && len(c.remaining) > 1 {
		if c.vagueBefore(c.remaining[1:]) {
			c.out.unclear = "cannot determine what ssh runs"
		}
		c.runLine(joined(c.remaining[1:]), c.inv.name, c.inv.in)
		c.remaining = c.remaining[:1]
	} else if len(c.prog.before) == 2 && len(c.remaining) == 1 && c.inv.in.kind != stdinNone && !c.has("-N") && !c.has("-n") {
		c.shellReads(c.inv.name)
	}
}

// socat parses an address.
func (c *call) socat(w word) {
	kind, value, _ := strings.Cut(w.text, ":")
	if !w.static {
		c.out.unclear = "cannot determine what socat runs"
	}
	switch strings.ToUpper(strings.Trim(kind, `"`)) {
	case "EXEC", "SYSTEM", "SHELL":
		value, _, _ = strings.Cut(value, ",")
		c.codeLine(strings.Trim(value, `"'`), "socat "+kind, !w.static)
	case "FILE", "OPEN", "CREATE", "CREAT", "GOPEN", "PIPE", "UNIX", "UNIX-CONNECT", "UNIX-LISTEN":
		value, _, _ = strings.Cut(value, ",")
		c.addPath(word{text: value, static: w.static}, w.text, Read|Write, FromArgument, false)
	default:
		for part := range strings.SplitSeq(w.text, "!!") {
			if part != w.text {
				c.socat(word{text: part, static: w.static})
			}
		}
		if strings.HasPrefix(w.text, "/") || strings.HasPrefix(w.text, ".") {
			c.addPath(w, w.text, Read|Write, FromArgument, false)
		}
	}
}
