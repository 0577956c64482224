//! How what is read becomes facts.

use super::{
    capture::{Json, Kept, Text},
    facts::{
        Blocks, ClientFacts, Code, ErrorFacts, Facts, ParamsFacts, ResultFacts, Shape, TaskFacts,
    },
    members::Found,
    place::{Place, Scope},
};

impl Facts {
    /// The result and the error of `scope`.
    #[inline(always)]
    pub(super) fn parts(&mut self, scope: Scope) -> (&mut ResultFacts, &mut ErrorFacts) {
        match scope {
            Scope::Message => (&mut self.result, &mut self.error),
            scope => self.inner_parts(scope),
        }
    }

    #[cold]
    fn inner_parts(&mut self, scope: Scope) -> (&mut ResultFacts, &mut ErrorFacts) {
        let inner = match scope {
            Scope::Params => &mut self.params.get_or_insert_default().inner,
            Scope::Message | Scope::Result => &mut self.inner,
        };
        let inner = inner.get_or_insert_default();
        (&mut inner.result, &mut inner.error)
    }

    /// The value that begins at `place` is of `shape`.
    pub(super) fn shape(&mut self, scope: Scope, place: Place, shape: Shape) {
        if let Some((scope, place)) = place.inner() {
            return self.shape(scope, place, shape);
        }
        match place {
            Place::JsonRpc => self.version = shape,
            Place::Method => self.method.shape = shape,
            Place::Result => self.parts(scope).0.shape = shape,
            Place::Structured => self.parts(scope).0.structured_shape = shape,
            Place::Error => self.parts(scope).1.shape = shape,
            Place::Code => self.parts(scope).1.code = Code::Invalid,
            Place::Params => self.params.get_or_insert_default().shape = shape,
            Place::Arguments => self.params.get_or_insert_default().arguments = shape,
            _ => {}
        }
    }

    /// What was said at `place` counts no more.
    pub(super) fn forget(&mut self, scope: Scope, place: Place) {
        if let Some((scope, place)) = place.inner() {
            return self.forget(scope, place);
        }
        match (scope, place) {
            (_, Place::Params) => return self.params = None,
            (Scope::Message, Place::Result) => self.inner = None,
            _ => {}
        }
        let (result, error) = self.parts(scope);
        match place {
            Place::Result => *result = ResultFacts::default(),
            Place::IsError => result.is_error = None,
            Place::ResultMeta => {
                result.record = Json::default();
                result.related_task = Text::default();
            }
            Place::RelatedTask => result.related_task = Text::default(),
            Place::Content => {
                result.blocks = Blocks::None;
                result.text = Text::default();
            }
            Place::Structured => {
                result.structured = Json::default();
                result.found = Found::default();
            }
            Place::Task => result.task = TaskFacts::default(),
            Place::ResultTtl => result.flat_task.ttl = None,
            Place::ResultCoreTtl => result.core_ttl = None,
            Place::TaskTtl => result.task.ttl = None,
            Place::Error => *error = ErrorFacts::default(),
            Place::Data => error.record = Json::default(),
            place => {
                if let Some(params) = self.params.as_deref_mut() {
                    params.forget(place);
                }
                self.keep(scope, place, Kept::Absent);
            }
        }
    }

    /// A string or a piece of JSON that was asked for.
    #[inline]
    pub(super) fn keep(&mut self, scope: Scope, place: Place, value: Kept) {
        if let Some(kept) = self.kept(scope, place) {
            *kept = value;
        }
    }

    /// A literal or a number that was asked for.
    pub(super) fn scalar(&mut self, scope: Scope, place: Place, token: &[u8]) {
        let (result, error) = self.parts(scope);
        match place {
            Place::IsError => {
                result.is_error = match token {
                    b"true" => Some(true),
                    b"false" => Some(false),
                    _ => None,
                }
            }
            Place::ResultTtl => result.flat_task.ttl = milliseconds(token),
            Place::ResultCoreTtl => result.core_ttl = milliseconds(token),
            Place::TaskTtl => result.task.ttl = milliseconds(token),
            Place::Code => error.code = Code::of(token),
            _ => {}
        }
    }

    #[inline]
    fn kept(&mut self, scope: Scope, place: Place) -> Option<&mut Kept> {
        match place {
            Place::Id => return Some(&mut self.id.0),
            Place::Method => return Some(&mut self.method.name.0),
            place if place.is_in_params() => return self.params.as_deref_mut()?.kept(place),
            _ => {}
        }
        let (result, error) = self.parts(scope);
        Some(match place {
            Place::ResultType => &mut result.result_type.0,
            Place::ResultRecord => &mut result.record.0,
            Place::RelatedTaskId => &mut result.related_task.0,
            Place::Structured => &mut result.structured.0,
            Place::ResultTaskId => &mut result.flat_task.id.0,
            Place::ResultStatus => &mut result.flat_task.status.0,
            Place::StatusMessage => &mut result.status_message.0,
            Place::TaskId => &mut result.task.id.0,
            Place::TaskStatus => &mut result.task.status.0,
            Place::ErrorMessage => &mut error.message.0,
            Place::DataRecord => &mut error.record.0,
            _ => return None,
        })
    }
}

impl ParamsFacts {
    fn forget(&mut self, place: Place) {
        match place {
            Place::Client => {
                self.client.name = Text::default();
                self.client.version = Text::default();
            }
            Place::ParamsMeta => {
                self.traceparent = Text::default();
                self.meta_client = ClientFacts::default();
            }
            Place::MetaClient => {
                self.meta_client.name = Text::default();
                self.meta_client.version = Text::default();
            }
            _ => {}
        }
    }

    fn kept(&mut self, place: Place) -> Option<&mut Kept> {
        Some(match place {
            Place::Name => &mut self.name.0,
            Place::Uri => &mut self.uri.0,
            Place::ParamsTaskId => &mut self.task_id.0,
            Place::ParamsStatus => &mut self.status.0,
            Place::ParamsStatusMessage => &mut self.status_message.0,
            Place::RequestId => &mut self.request_id.0,
            Place::Version => &mut self.client.protocol_version.0,
            Place::ClientName => &mut self.client.name.0,
            Place::ClientVersion => &mut self.client.version.0,
            Place::TraceParent => &mut self.traceparent.0,
            Place::MetaVersion => &mut self.meta_client.protocol_version.0,
            Place::MetaClientName => &mut self.meta_client.name.0,
            Place::MetaClientVersion => &mut self.meta_client.version.0,
            _ => return None,
        })
    }
}

/// A whole number; `None` for what is none.
fn milliseconds(token: &[u8]) -> Option<u64> {
    // With a sign, `-0` and `+1` among them, it is none to `serde_json` either.
    let token = token.first()?.is_ascii_digit().then_some(token)?;
    std::str::from_utf8(token).ok()?.parse().ok()
}

impl Code {
    fn of(token: &[u8]) -> Self {
        let (digits, sign) = match token {
            [b'-', digits @ ..] => (digits, -1),
            digits => (digits, 1),
        };
        // Towards the sign's side, where there is one number more. `-0` is no integer to
        // `serde_json` either.
        let code = digits.iter().try_fold(0_i64, |code, digit| {
            let digit = i64::from(digit.checked_sub(b'0').filter(|digit| *digit < 10)?);
            code.checked_mul(10)?.checked_add(sign * digit)
        });
        code.filter(|code| *code != 0 || token == b"0").map_or(Self::Invalid, Self::Number)
    }
}
