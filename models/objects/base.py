"""What every Kubernetes object shares: field spelling, metadata, owners."""

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Annotated, Any, Self

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, GetCoreSchemaHandler
from pydantic_core import CoreSchema, core_schema

from models.objects.annotations import Annotations
from models.objects.strings import StringMap

VALUE_LABEL = "|"
NULL_LABEL = "|null"
#: The API keeps most whole numbers in 32 bits and refuses larger ones.
LEAST_INT32 = -(2**31)
MOST_INT32 = 2**31 - 1
_ACRONYM = re.compile(r"(?<=[a-z])Ip(?=[A-Z]|$)")


def kubernetes_name(field_name: str) -> str:
    """The API's spelling of a snake_case name: `max_skew` is `maxSkew`, `host_ip` is `hostIP`."""
    first, *rest = field_name.split("_")
    return _ACRONYM.sub("IP", first + "".join(word.capitalize() for word in rest))


def empty_is(default: str) -> BeforeValidator:
    """For a field of which the API server takes an empty text for its default."""
    return BeforeValidator(lambda text: default if text == "" else text)


def _model_fields(schema: CoreSchema) -> list[Any]:
    """The fields inside a model's schema, under whatever validators wrap them."""
    inner: Any = schema
    while inner["type"] != "model-fields":
        inner = inner["schema"]
    return list(inner["fields"].values())


def _null_is_absent(field: Any) -> CoreSchema:
    """The field's schema, or `null` for its default; the labels let errors be told apart."""
    inner: CoreSchema = field["schema"]
    if inner["type"] in {"nullable", "any"} or _takes_null(inner):
        return inner

    def default(_: None) -> Any:
        return field["default_factory"]() if "default_factory" in field else field["default"]

    null = core_schema.no_info_after_validator_function(default, core_schema.none_schema())
    return core_schema.union_schema([(inner, VALUE_LABEL), (null, NULL_LABEL)], mode="left_to_right")


def _takes_null(schema: Any) -> bool:
    """Whether the schema was wrapped before, as part of another model."""
    return bool(schema["type"] == "union" and schema["choices"][-1][-1:] == (NULL_LABEL,))


class KubeModel(BaseModel):
    """A frozen part of a Kubernetes object; what the planner does not need is dropped."""

    model_config = ConfigDict(
        frozen=True, extra="ignore", defer_build=True, alias_generator=kubernetes_name, populate_by_name=True
    )

    def model_copy(self, *, update: Mapping[str, Any] | None = None, deep: bool = False) -> Self:
        """The same with other values for some fields: what pydantic makes, in half the time."""
        if deep:
            return super().model_copy(update=update, deep=True)
        put, update = object.__setattr__, update or {}
        made, fields_set = type(self).__new__(type(self)), self.__pydantic_fields_set__
        if not fields_set.issuperset(update):
            fields_set = fields_set.union(update)
        put(made, "__dict__", {**self.__dict__, **update})
        put(made, "__pydantic_fields_set__", fields_set)
        put(made, "__pydantic_extra__", None)
        put(made, "__pydantic_private__", None)
        return made

    def changed(self, part: str, **fields: object) -> Self:
        """The same with other values for some fields of a part, such as its spec."""
        return self.model_copy(update={part: getattr(self, part).model_copy(update=fields)})

    @classmethod
    def __get_pydantic_core_schema__(
        cls, source: type[BaseModel], handler: GetCoreSchemaHandler
    ) -> CoreSchema:
        """Let `null` mean absence in every field that has a default, as the API server does."""
        schema = handler(source)
        for field in _model_fields(schema):
            if field["schema"]["type"] == "default":
                field["schema"]["schema"] = _null_is_absent(field["schema"])
        return schema


def _in_utc(time: datetime) -> datetime:
    """The time, taken for UTC where it names no zone."""
    return time if time.tzinfo else time.replace(tzinfo=UTC)


Time = Annotated[datetime, AfterValidator(_in_utc)]
#: What stands for a time that is not told, where that is taken for the first, or the last of all.
LONG_AGO, FAR_AHEAD = (time.replace(tzinfo=UTC) for time in (datetime.min, datetime.max))


class OwnerReference(KubeModel):
    """What made an object; the one with `controller` also recreates it."""

    api_version: str = ""
    kind: str
    name: str
    uid: str = ""
    controller: bool = False


class ObjectMeta(KubeModel):
    """The metadata of an object that lives in a namespace."""

    name: str = ""
    generate_name: str = ""
    namespace: str = "default"
    uid: str = ""
    labels: StringMap = Field(default_factory=dict)
    annotations: Annotations = Field(default_factory=dict)
    owner_references: tuple[OwnerReference, ...] = ()
    creation_timestamp: Time | None = None
    deletion_timestamp: Time | None = None
    # No part of how a template is spelled: the names of pods that stand in for those to come depend on that.
    finalizers: tuple[str, ...] = Field(default=(), repr=False)

    @property
    def created(self) -> datetime:
        """When it was made; long ago where nothing tells that."""
        return self.creation_timestamp or LONG_AGO

    @property
    def controller(self) -> OwnerReference | None:
        """The owner that recreates this object when it is gone, if there is one."""
        # A plain loop: this is asked about every pod, several times.
        for owner in self.owner_references:
            if owner.controller:
                return owner
        return None


class WorkloadMeta(ObjectMeta):
    """The metadata of a workload: its generation goes up with every change of its spec."""

    generation: int = 0


class ClusterObjectMeta(ObjectMeta):
    """The metadata of an object that belongs to no namespace."""

    namespace: str = ""


class KubeObject(KubeModel):
    """An object of its own, with an apiVersion and a kind."""

    api_version: str = ""

    @property
    def kind(self) -> str:
        """The kind as in a manifest."""
        return type(self).__name__

    @property
    def is_named(self) -> bool:
        """Whether it has the name that objects of its kind need."""
        return True


def only(version: str) -> AfterValidator:
    """For the apiVersion of a configuration, whose fields differ between versions: this one, or none."""

    def check(found: str) -> str:
        if found not in ("", version):
            raise ValueError(f"expected {version!r}, found {found!r}")
        return found

    return AfterValidator(check)


class ClusterObject(KubeObject):
    """An object outside namespaces, such as a Node."""

    metadata: ClusterObjectMeta

    @property
    def is_named(self) -> bool:
        """Whether it has a name."""
        return bool(self.metadata.name)

    @property
    def name(self) -> str:
        """The object's name."""
        return self.metadata.name

    @property
    def namespace(self) -> str:
        """Always empty."""
        return ""

    @property
    def key(self) -> str:
        """What names the object among its kind: its name."""
        return self.metadata.name


class NamespacedObject(KubeObject):
    """An object inside a namespace, such as a Pod."""

    metadata: ObjectMeta

    @property
    def is_named(self) -> bool:
        """Whether it has a name, or at least the beginning of one."""
        return bool(self.metadata.name or self.metadata.generate_name)

    @property
    def name(self) -> str:
        """The object's name, unique in its namespace only."""
        return self.metadata.name

    @property
    def namespace(self) -> str:
        """The namespace that it lives in."""
        return self.metadata.namespace

    @property
    def key(self) -> str:
        """What names the object among its kind: `namespace/name`."""
        return f"{self.metadata.namespace}/{self.metadata.name}"

    @property
    def full_name(self) -> str:
        """What names the object among all others, as commands take it: `Kind/name.namespace`."""
        return f"{self.kind}/{self.metadata.name}.{self.metadata.namespace}"
