//! Tokens of an expression.

/// A token.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Token {
    Ident(String),
    Int(i64),
    /// 2^63, which is an integer only after a minus.
    IntMin,
    Uint(u64),
    Double(f64),
    String(String),
    Bytes(Vec<u8>),
    /// An operator or a bracket.
    Symbol(&'static str),
    End,
}

/// Longest first.
const SYMBOLS: [&str; 26] = [
    "&&", "||", "<=", ">=", "==", "!=", "<", ">", "+", "-", "*", "/", "%", "!", "?", ":", ".", ",", "(", ")",
    "[", "]", "{", "}", "'", "\"",
];

/// The tokens of a text, each with the byte it starts at.
pub(crate) fn tokens(text: &str) -> Result<Vec<(usize, Token)>, String> {
    let mut lexer = Lexer { text, at: 0 };
    let mut tokens = Vec::new();
    loop {
        lexer.skip_blanks();
        let start = lexer.at;
        let token = lexer.token()?;
        let is_end = token == Token::End;
        tokens.push((start, token));
        if is_end {
            return Ok(tokens);
        }
    }
}

struct Lexer<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Lexer<'a> {
    fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    fn error(&self, what: &str) -> String {
        format!("<input>:1:{}: Syntax error: {what}", self.at + 1)
    }

    fn skip_blanks(&mut self) {
        loop {
            let rest = self.rest();
            let trimmed = rest.trim_start_matches([' ', '\t', '\r', '\n', '\u{c}']);
            self.at += rest.len() - trimmed.len();
            if !trimmed.starts_with("//") {
                return;
            }
            self.at += trimmed.find('\n').unwrap_or(trimmed.len());
        }
    }

    fn token(&mut self) -> Result<Token, String> {
        let rest = self.rest();
        let Some(first) = rest.chars().next() else { return Ok(Token::End) };
        if let Some(literal) = self.quoted()? {
            return Ok(literal);
        }
        if first.is_ascii_digit() || first == '.' && rest[1..].starts_with(|c: char| c.is_ascii_digit()) {
            return self.number();
        }
        if first.is_ascii_alphabetic() || first == '_' {
            let end = rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(rest.len());
            self.at += end;
            return Ok(Token::Ident(rest[..end].to_owned()));
        }
        if first == '`' {
            let end = rest[1..].find('`').ok_or_else(|| self.error("unterminated identifier"))?;
            self.at += end + 2;
            return Ok(Token::Ident(rest[1..=end].to_owned()));
        }
        match SYMBOLS.iter().find(|symbol| rest.starts_with(**symbol)) {
            Some(symbol) => {
                self.at += symbol.len();
                Ok(Token::Symbol(symbol))
            }
            None => Err(self.error(&format!("token recognition error at: '{first}'"))),
        }
    }

    fn number(&mut self) -> Result<Token, String> {
        let rest = self.rest();
        let bad = |lexer: &Lexer<'_>| lexer.error("invalid number");
        if let Some(hex) = rest.strip_prefix("0x").or_else(|| rest.strip_prefix("0X")) {
            let end = hex.find(|c: char| !c.is_ascii_hexdigit()).unwrap_or(hex.len());
            let (digits, after) = hex.split_at(end);
            self.at += 2 + end;
            if after.starts_with(['u', 'U']) {
                self.at += 1;
                return u64::from_str_radix(digits, 16).map(Token::Uint).map_err(|_| bad(self));
            }
            return i64::from_str_radix(digits, 16).map(Token::Int).map_err(|_| bad(self));
        }
        let digits = |text: &str| text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
        let mut end = digits(rest);
        let mut is_double = false;
        if rest[end..].starts_with('.') && rest[end + 1..].starts_with(|c: char| c.is_ascii_digit()) {
            is_double = true;
            end += 1 + digits(&rest[end + 1..]);
        }
        if rest[end..].starts_with(['e', 'E']) {
            let sign = usize::from(rest[end + 1..].starts_with(['+', '-']));
            let exponent = digits(&rest[end + 1 + sign..]);
            if exponent > 0 {
                is_double = true;
                end += 1 + sign + exponent;
            }
        }
        let number = &rest[..end];
        self.at += end;
        if is_double {
            return number.parse().map(Token::Double).map_err(|_| bad(self));
        }
        if rest[end..].starts_with(['u', 'U']) {
            self.at += 1;
            return number.parse().map(Token::Uint).map_err(|_| bad(self));
        }
        if number == "9223372036854775808" {
            return Ok(Token::IntMin);
        }
        number.parse().map(Token::Int).map_err(|_| bad(self))
    }

    /// A string or bytes: `"..."`, `'...'`, three of them, with `r` or `b` before.
    fn quoted(&mut self) -> Result<Option<Token>, String> {
        let rest = self.rest();
        let letters = rest.find(['"', '\'']).unwrap_or(rest.len());
        let prefix = &rest[..letters];
        let is_prefix = matches!(
            prefix,
            "" | "r" | "R" | "b" | "B" | "rb" | "rB" | "Rb" | "RB" | "br" | "bR" | "Br" | "BR"
        );
        if !is_prefix || letters == rest.len() {
            return Ok(None);
        }
        let (is_raw, is_bytes) = (prefix.contains(['r', 'R']), prefix.contains(['b', 'B']));
        let quoted = &rest[letters..];
        let one = &quoted[..1];
        let three = one.repeat(3);
        let quote: &str = if quoted.starts_with(&three) { &three } else { one };
        let body = &quoted[quote.len()..];
        let mut content: Vec<u8> = Vec::new();
        let mut chars = body.char_indices();
        while let Some((at, c)) = chars.next() {
            if body[at..].starts_with(quote) {
                self.at += letters + quote.len() + at + quote.len();
                if is_bytes {
                    return Ok(Some(Token::Bytes(content)));
                }
                let text = String::from_utf8(content).map_err(|_| self.error("invalid text"))?;
                return Ok(Some(Token::String(text)));
            }
            if quote.len() == 1 && (c == '\n' || c == '\r') {
                break;
            }
            if c != '\\' || is_raw {
                content.extend(c.encode_utf8(&mut [0; 4]).bytes());
                continue;
            }
            let used = unescape(&body[at + 1..], is_bytes, &mut content)
                .ok_or_else(|| self.error("invalid escape sequence"))?;
            let end = at + 1 + used;
            while chars.clone().next().is_some_and(|(next, _)| next < end) {
                chars.next();
            }
        }
        Err(self.error("token recognition error: unterminated text"))
    }
}

/// Appends what an escape stands for, and says how many bytes it has after the backslash.
fn unescape(text: &str, is_bytes: bool, content: &mut Vec<u8>) -> Option<usize> {
    let first = text.chars().next()?;
    let simple = match first {
        'a' => 7,
        'b' => 8,
        'f' => 12,
        'n' => b'\n',
        'r' => b'\r',
        't' => b'\t',
        'v' => 11,
        '\\' | '\'' | '"' | '`' | '?' => first as u8,
        _ => 0,
    };
    if simple != 0 {
        content.push(simple);
        return Some(1);
    }
    let (skip, digits, radix) = match first {
        'x' | 'X' => (1, 2, 16),
        'u' if !is_bytes => (1, 4, 16),
        'U' if !is_bytes => (1, 8, 16),
        '0'..='3' => (0, 3, 8),
        _ => return None,
    };
    let number = u32::from_str_radix(text.get(skip..skip + digits)?, radix).ok()?;
    if is_bytes {
        content.push(u8::try_from(number).ok()?);
    } else {
        content.extend(char::from_u32(number)?.encode_utf8(&mut [0; 4]).bytes());
    }
    Some(skip + digits)
}
