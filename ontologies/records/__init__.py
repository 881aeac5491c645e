"""Annotation records (what each disease has, what each group uses) and patient records (what a batch asks about)."""

from .frequency import Frequency
from .hpoa import read_hpoa
from .loading import load_records
from .model import ASPECTS, Annotation, EvidenceRow, Record, Records
from .patient_model import BadRecord, PatientInput, PatientRecord
from .patients import read_patients
from .phenopacket import read_phenopacket
from .stix import read_groups

__all__ = [
    "ASPECTS",
    "Annotation",
    "BadRecord",
    "EvidenceRow",
    "Frequency",
    "PatientInput",
    "PatientRecord",
    "Record",
    "Records",
    "load_records",
    "read_groups",
    "read_hpoa",
    "read_patients",
    "read_phenopacket",
]
